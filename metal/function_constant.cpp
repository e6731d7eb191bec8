// Converts function constants to components and to text, and reads the names of their types.
#include "metal/function_constant.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace assay::metal {

namespace {

using Scalar = FunctionConstantType::Scalar;

std::optional<Scalar> scalar_named(std::string_view name) {
  static constexpr auto kIntegers =
      std::to_array<std::string_view>({"char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "size_t", "ptrdiff_t", "int8_t",
                                       "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t", "int64_t", "uint64_t"});
  if (name == "bool") return Scalar::boolean;
  if (name == "float" || name == "half" || name == "bfloat") return Scalar::floating;
  return std::find(kIntegers.begin(), kIntegers.end(), name) == kIntegers.end() ? std::nullopt : std::optional(Scalar::integer);
}

// Names of C in any order of words: `unsigned int`, `long`.
bool is_integer_of_words(std::string_view type) {
  static constexpr auto kWords = std::to_array<std::string_view>({"unsigned", "signed", "char", "short", "int", "long"});
  bool any = false;
  while (!type.empty()) {
    const std::size_t end = std::min(type.find(' '), type.size());
    if (std::find(kWords.begin(), kWords.end(), type.substr(0, end)) == kWords.end()) return false;
    any = true;
    type.remove_prefix(std::min(end + 1, type.size()));
  }
  return any;
}

std::optional<std::uint32_t> count_of(std::string_view digits) {
  return digits == "2" || digits == "3" || digits == "4" ? std::optional(static_cast<std::uint32_t>(digits.front() - '0')) : std::nullopt;
}

std::optional<FunctionConstantType> vector_of(std::string_view scalar, std::string_view count) {
  const auto components = count_of(count);
  const auto kind = scalar_named(scalar);
  if (!components || !kind) return std::nullopt;
  return FunctionConstantType{*kind, *components};
}

}  // namespace

std::vector<ConstantScalar> components_of(const FunctionConstant& value) {
  if (const auto* vector = std::get_if<ConstantVector>(&value)) return vector->components;
  if (const auto* boolean = std::get_if<bool>(&value)) return {*boolean};
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return {*integer};
  return {std::get<double>(value)};
}

FunctionConstant constant_of_components(std::span<const ConstantScalar> components) {
  if (components.size() != 1) return ConstantVector{{components.begin(), components.end()}};
  return std::visit([](auto number) { return FunctionConstant(number); }, components.front());
}

std::string to_string(const ConstantScalar& value) {
  return std::visit([](auto number) { return fmt::format("{}", number); }, value);
}

std::string to_string(const FunctionConstant& value) {
  std::vector<std::string> texts;
  for (const ConstantScalar& component : components_of(value)) texts.push_back(to_string(component));
  return std::holds_alternative<ConstantVector>(value) ? fmt::format("({})", fmt::join(texts, ", ")) : texts.front();
}

bool FunctionConstantType::takes(const ConstantScalar& value) const {
  switch (scalar) {
    case Scalar::boolean:
      return std::holds_alternative<bool>(value);
    case Scalar::integer:
      return std::holds_alternative<std::int64_t>(value);
    case Scalar::floating:
      return !std::holds_alternative<bool>(value);
  }
  return false;
}

std::optional<FunctionConstantType> function_constant_type(std::string_view type) {
  if (is_integer_of_words(type)) return FunctionConstantType{};
  std::string name(type);
  std::erase(name, ' ');
  std::string_view rest = name;
  if (rest.starts_with("::")) rest.remove_prefix(2);
  if (rest.starts_with("metal::")) rest.remove_prefix(7);
  if (const auto scalar = scalar_named(rest)) return FunctionConstantType{*scalar, 1};
  if (rest.starts_with("vec<") && rest.ends_with(">")) {
    rest = rest.substr(4, rest.size() - 5);
    const std::size_t comma = std::min(rest.find(','), rest.size());
    return vector_of(rest.substr(0, comma), rest.substr(std::min(comma + 1, rest.size())));
  }
  // `int8_t2` is not a type.
  if (rest.size() < 2 || rest.ends_with("_t2") || rest.ends_with("_t3") || rest.ends_with("_t4")) return std::nullopt;
  return vector_of(rest.substr(0, rest.size() - 1), rest.substr(rest.size() - 1));
}

}  // namespace assay::metal
