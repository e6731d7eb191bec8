// Reads [axes], [tensors], [bound] and [reference] of a variant.toml.
#include "kernels/custom_toml.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "kernels/launch_toml.h"

namespace assay::kernels {
namespace {

using metal::ScalarType;

constexpr std::size_t kMostAxes = 12;
constexpr std::size_t kMostValues = 64;
constexpr std::size_t kMostTensors = 24;
constexpr std::int64_t kLargestValue = std::int64_t{1} << 31;

constexpr std::array<std::pair<std::string_view, ScalarType>, 9> kTypes = {{{"half", ScalarType::float16},
                                                                            {"float", ScalarType::float32},
                                                                            {"bfloat", ScalarType::bfloat16},
                                                                            {"int", ScalarType::int32},
                                                                            {"uint", ScalarType::uint32},
                                                                            {"short", ScalarType::int16},
                                                                            {"ushort", ScalarType::uint16},
                                                                            {"char", ScalarType::int8},
                                                                            {"uchar", ScalarType::uint8}}};
constexpr std::array<std::pair<std::string_view, Fill::Kind>, 4> kFills = {
    {{"gauss", Fill::Kind::gauss}, {"uniform", Fill::Kind::uniform}, {"zero", Fill::Kind::zero}, {"one", Fill::Kind::one}}};
constexpr std::array<std::pair<std::string_view, CustomBound::Of>, 3> kScopes = {
    {{"element", CustomBound::Of::element}, {"row_max", CustomBound::Of::row_max}, {"row_norm", CustomBound::Of::row_norm}}};
constexpr std::array<std::string_view, 5> kFixtures = {"gauss", "heavy", "zero", "cancel", "tiny"};

bool is_floating_type(ScalarType type) {
  return type == ScalarType::float16 || type == ScalarType::float32 || type == ScalarType::bfloat16;
}

template <typename Pairs>
std::vector<std::string_view> names_in(const Pairs& pairs) {
  std::vector<std::string_view> names;
  for (const auto& [name, value] : pairs) names.push_back(name);
  return names;
}

class CustomReader {
 public:
  explicit CustomReader(const TomlReader& reader) : reader_(reader) {}

  CustomDescription read(const toml::table& root) {
    description_.folder = reader_.file().parent_path();
    if (const toml::table* axes = reader_.subtable(root, "axes")) read_axes(*axes);
    const toml::table* tensors = reader_.subtable(root, "tensors");
    if (tensors == nullptr) reader_.fail(1, "[tensors] is missing: the inputs and outputs of the kernel (docs/CUSTOM.md)");
    read_tensors(*tensors);
    const toml::table* bounds = reader_.subtable(root, "bound");
    if (bounds == nullptr) {
      read_bounds(toml::table());
    } else {
      read_bounds(*bounds);
    }
    const toml::table* reference = reader_.subtable(root, "reference");
    if (reference == nullptr) reader_.fail(1, "[reference] is missing: what computes the expected results (docs/CUSTOM.md)");
    read_reference(*reference);
    if (const toml::node* node = root.get("valid")) description_.valid = read_expression(reader_, *node, "'valid'");
    read_fixtures(root.get("fixtures"));
    return std::move(description_);
  }

 private:
  void take_name(const toml::node& node, std::string_view name, std::string_view where) {
    if (!is_identifier(name)) reader_.fail(node, fmt::format("'{}' in {} is no name; use letters, digits and '_'", name, where));
    if (!names_.insert(std::string(name)).second) reader_.fail(node, fmt::format("the name '{}' is used twice", name));
  }

  void read_axes(const toml::table& table) {
    if (table.size() > kMostAxes) reader_.fail(table, fmt::format("[axes] has more than {} axes", kMostAxes));
    for (const auto& [key, node] : in_file_order(table)) {
      const std::string what = fmt::format("[axes] {}", key);
      take_name(*node, key, "[axes]");
      // A case name joins an axis and its value, and needs the words of fixtures and seeds for itself.
      const bool ends_with_digit = key.back() >= '0' && key.back() <= '9';
      if (key == "s" || key == "fixture" || key == "seed" || ends_with_digit)
        reader_.fail(*node,
                     fmt::format("{}: this name cannot be used in names of cases; use another that does not end with a digit", what));
      const toml::array* list = node->as_array();
      if (list == nullptr || list->empty() || list->size() > kMostValues)
        reader_.fail(*node, fmt::format("{} must be a list of 1 to {} integers", what, kMostValues));
      CustomAxis axis{std::string(key), {}};
      for (const toml::node& element : *list) {
        const std::int64_t value = reader_.integer_of(element, "an element of " + what);
        if (value < 0 || value > kLargestValue) reader_.fail(element, fmt::format("{} has {}; accepted: 0 .. 2^31", what, value));
        axis.values.push_back(value);
      }
      std::ranges::sort(axis.values);
      if (std::ranges::adjacent_find(axis.values) != axis.values.end()) reader_.fail(*node, fmt::format("{} has a value twice", what));
      description_.axes.push_back(std::move(axis));
    }
  }

  void read_tensors(const toml::table& tensors) {
    if (tensors.size() > kMostTensors) reader_.fail(tensors, fmt::format("[tensors] has more than {} tensors", kMostTensors));
    for (const auto& [key, node] : in_file_order(tensors)) {
      const std::string what = fmt::format("tensor {}", key);
      take_name(*node, key, "[tensors]");
      const toml::table* table = node->as_table();
      if (table == nullptr)
        reader_.fail(*node, fmt::format("{} must be a table: {{ type = \"half\", shape = [\"rows\", \"dim\"] }}", what));
      reader_.accept_keys(*table, "in " + what, {"type", "shape", "fill", "scale", "output", "strides", "offset"});
      CustomTensor& tensor = description_.tensors.emplace_back();
      tensor.name = key;
      tensor.where = fmt::format("{}:{}", base::on_one_line(reader_.file().string()), node->source().begin.line);
      tensor.type_name = reader_.required_string(*table, "type", "in " + what, node->source().begin.line);
      const auto type = std::ranges::find(kTypes, tensor.type_name, &std::pair<std::string_view, ScalarType>::first);
      if (type == kTypes.end())
        reader_.fail(*table->get("type"),
                     fmt::format("type of {} is '{}'; accepted: {}", what, tensor.type_name, fmt::join(names_in(kTypes), ", ")));
      tensor.type = type->second;
      const toml::node* shape = table->get("shape");
      if (shape == nullptr) reader_.fail(*node, fmt::format("'shape' is missing in {}", what));
      tensor.shape = expressions_of(*shape, "shape of " + what);
      if (const toml::node* output = table->get("output")) {
        if (!output->is_boolean()) reader_.fail(*output, fmt::format("'output' of {} must be true or false", what));
        tensor.is_output = *output->value_exact<bool>();
      }
      if (const toml::node* strides = table->get("strides")) {
        tensor.strides = expressions_of(*strides, "strides of " + what);
        if (tensor.strides.size() != tensor.shape.size())
          reader_.fail(*strides, fmt::format("{} has {} axes, but {} strides", what, tensor.shape.size(), tensor.strides.size()));
      }
      if (const toml::node* offset = table->get("offset")) tensor.offset = read_expression(reader_, *offset, "offset of " + what);
      read_fill(*table, tensor, what);
    }
    if (std::ranges::none_of(description_.tensors, &CustomTensor::is_output))
      reader_.fail(tensors, "no tensor has `output = true`, so nothing would be compared");
  }

  [[nodiscard]] std::vector<Expression> expressions_of(const toml::node& node, const std::string& what) const {
    constexpr std::size_t kMost = 6;
    const toml::array* list = node.as_array();
    if (list == nullptr || list->empty() || list->size() > kMost)
      reader_.fail(node, fmt::format("{} must be a list of 1 to {} numbers or expressions", what, kMost));
    std::vector<Expression> expressions;
    for (const toml::node& element : *list) expressions.push_back(read_expression(reader_, element, "an element of " + what));
    return expressions;
  }

  void read_fill(const toml::table& table, CustomTensor& tensor, const std::string& what) const {
    const toml::node* node = table.get("fill");
    const toml::node* scale = table.get("scale");
    if (tensor.is_output) {
      if (node != nullptr || scale != nullptr) reader_.fail(table, fmt::format("{} is an output, so it has no fill", what));
      return;
    }
    if (node == nullptr) reader_.fail(table, fmt::format("'fill' is missing in {}; an output has `output = true` instead", what));
    if (const toml::array* range = node->as_array()) {
      if (range->size() != 2) reader_.fail(*node, fmt::format("fill of {} must be [least, most], two integers", what));
      tensor.fill = {Fill::Kind::integers, 1.0, reader_.integer_of(*range->get(0), "fill of " + what),
                     reader_.integer_of(*range->get(1), "fill of " + what)};
      const auto [least, most] = range_of(tensor.type);
      if (tensor.fill.least > tensor.fill.most || tensor.fill.least < least || tensor.fill.most > most)
        reader_.fail(*node, fmt::format("fill of {} is [{}, {}]; a {} holds the integers {} .. {}", what, tensor.fill.least,
                                        tensor.fill.most, tensor.type_name, least, most));
    } else {
      const std::string name = reader_.string_of(*node, "fill of " + what);
      const auto kind = std::ranges::find(kFills, name, &std::pair<std::string_view, Fill::Kind>::first);
      if (kind == kFills.end())
        reader_.fail(*node, fmt::format("fill of {} is '{}'; accepted: {}, and [least, most] for integers", what, name,
                                        fmt::join(names_in(kFills), ", ")));
      tensor.fill.kind = kind->second;
      const bool is_random = tensor.fill.kind == Fill::Kind::gauss || tensor.fill.kind == Fill::Kind::uniform;
      if (is_random && !is_floating_type(tensor.type))
        reader_.fail(*node,
                     fmt::format("{} has type {}; its fill must be [least, most], two integers, or zero or one", what, tensor.type_name));
      if (scale == nullptr) return;
      if (!is_random) reader_.fail(*scale, fmt::format("'scale' of {} is only for gauss and uniform", what));
      tensor.fill.scale = number_of(*scale, "scale of " + what);
      return;
    }
    if (scale != nullptr) reader_.fail(*scale, fmt::format("'scale' of {} is only for gauss and uniform", what));
  }

  // Integers that the type represents exactly, with their neighbours.
  static std::pair<std::int64_t, std::int64_t> range_of(ScalarType type) {
    switch (type) {
      case ScalarType::float16:
        return {-2048, 2048};
      case ScalarType::bfloat16:
        return {-256, 256};
      case ScalarType::float32:
        return {-(1 << 24), 1 << 24};
      case ScalarType::int8:
        return {-128, 127};
      case ScalarType::uint8:
        return {0, 255};
      case ScalarType::int16:
        return {-32768, 32767};
      case ScalarType::uint16:
        return {0, 65535};
      case ScalarType::uint32:
        return {0, (std::int64_t{1} << 32) - 1};
      default:
        return {-(std::int64_t{1} << 31), (std::int64_t{1} << 31) - 1};
    }
  }

  // A number that is finite and not negative.
  [[nodiscard]] double number_of(const toml::node& node, const std::string& what) const {
    const auto value = node.value<double>();
    if (!node.is_number() || !value || !std::isfinite(*value) || *value < 0)
      reader_.fail(node, fmt::format("{} must be a number that is not negative", what));
    return *value;
  }

  void read_bounds(const toml::table& table) {
    std::vector<std::string_view> outputs;
    for (const CustomTensor& tensor : description_.tensors) {
      if (tensor.is_output) outputs.push_back(tensor.name);
    }
    reader_.accept_keys(table, "in [bound]", outputs);
    for (const CustomTensor& tensor : description_.tensors) {
      if (tensor.is_output) description_.bounds.push_back(bound_of(table, tensor));
    }
  }

  [[nodiscard]] CustomBound bound_of(const toml::table& table, const CustomTensor& tensor) const {
    const toml::node* node = table.get(tensor.name);
    const std::string what = fmt::format("[bound] {}", tensor.name);
    CustomBound bound;
    if (node == nullptr) {
      if (is_floating_type(tensor.type))
        reader_.fail(1,
                     fmt::format("[bound] has no {0}: what may the error of that output be? Add {0} = {{ ulps = 4, of = \"element\" }}, or "
                                 "{0} = \"reference\" if the reference returns it",
                                 tensor.name));
      return bound;  // integers must be equal
    }
    if (node->is_string()) {
      if (reader_.string_of(*node, what) != "reference")
        reader_.fail(*node,
                     fmt::format("{} is a text other than \"reference\"; a bound is a table: {{ ulps = 4, of = \"element\" }}", what));
      bound.is_of_reference = true;
      return bound;
    }
    const toml::table* parts = node->as_table();
    if (parts == nullptr) reader_.fail(*node, fmt::format("{} must be a table or \"reference\"", what));
    reader_.accept_keys(*parts, "in " + what, {"ulps", "of", "absolute", "relative"});
    if (const toml::node* ulps = parts->get("ulps")) bound.ulps = number_of(*ulps, what + ".ulps");
    if (const toml::node* absolute = parts->get("absolute")) bound.absolute = number_of(*absolute, what + ".absolute");
    if (const toml::node* relative = parts->get("relative")) bound.relative = number_of(*relative, what + ".relative");
    if (const toml::node* of = parts->get("of")) {
      const std::string name = reader_.string_of(*of, what + ".of");
      const auto scope = std::ranges::find(kScopes, name, &std::pair<std::string_view, CustomBound::Of>::first);
      if (scope == kScopes.end())
        reader_.fail(*of, fmt::format("{}.of is '{}'; accepted: {}", what, name, fmt::join(names_in(kScopes), ", ")));
      bound.of = scope->second;
    }
    if (is_floating_type(tensor.type) && bound.ulps == 0 && bound.absolute == 0 && bound.relative == 0)
      reader_.fail(*node, fmt::format("{} allows no error at all; set ulps, absolute or relative", what));
    if (!is_floating_type(tensor.type) && bound.ulps != 0)
      reader_.fail(*node, fmt::format("{}: an output of type {} has no ulps; use absolute", what, tensor.type_name));
    return bound;
  }

  void read_reference(const toml::table& table) {
    reader_.accept_keys(table, "in [reference]", {"command", "library", "function", "file", "seconds"});
    CustomReference& reference = description_.reference;
    const int kinds = static_cast<int>(table.contains("command")) + static_cast<int>(table.contains("library")) +
                      static_cast<int>(table.contains("file"));
    if (kinds != 1) reader_.fail(table, "[reference] needs one of 'command', 'library' and 'file'");
    if (const toml::node* node = table.get("command")) {
      reference.command = reader_.strings_of(*node, "[reference] command");
      if (reference.command.empty() || reference.command.front().empty())
        reader_.fail(*node, "[reference] command is empty; it is a program with its arguments, as in [\"python3\", \"reference.py\"]");
      for (const std::string& word : reference.command) require_relative(*node, word);
    } else if (const toml::node* library = table.get("library")) {
      reference.kind = CustomReference::Kind::library;
      const std::string name = reader_.string_of(*library, "[reference] library");
      require_relative(*library, name);
      reference.library = reader_.file().parent_path() / name;
    } else {
      const toml::node& file = *table.get("file");
      reference.kind = CustomReference::Kind::file;
      const std::string name = reader_.string_of(file, "[reference] file");
      require_relative(file, name);
      try {
        reference.file.emplace(name, fmt::format("{}:{}", base::on_one_line(reader_.file().string()), file.source().begin.line));
      } catch (const ExpressionError& error) {
        throw VariantError(error.what());
      }
    }
    if (const toml::node* node = table.get("function")) {
      if (reference.kind != CustomReference::Kind::library) reader_.fail(*node, "[reference] function is only for a library");
      reference.function = reader_.string_of(*node, "[reference] function");
    }
    if (const toml::node* node = table.get("seconds")) {
      reference.seconds = reader_.integer_of(*node, "[reference] seconds");
      if (reference.seconds < 1 || reference.seconds > 3600)
        reader_.fail(*node, fmt::format("[reference] seconds is {}; accepted: 1 .. 3600", reference.seconds));
    }
  }

  // Whether a word can lead out of the folder. Links are looked at when the reference is asked.
  void require_relative(const toml::node& node, const std::string& word) const {
    const std::filesystem::path path(word);
    const bool climbs = std::ranges::any_of(path, [](const std::filesystem::path& part) { return part == ".."; });
    if (path.is_absolute() || climbs)
      reader_.fail(node, fmt::format("[reference] '{}' leads out of the folder of this file; put it there", base::on_one_line(word)));
  }

  void read_fixtures(const toml::node* node) {
    if (description_.reference.kind == CustomReference::Kind::file) {
      if (node != nullptr) reader_.fail(*node, "'fixtures' is not for recorded expectations, which have inputs of their own");
      description_.fixtures = {"recorded"};
      return;
    }
    if (node == nullptr) {
      description_.fixtures = {"gauss", "heavy", "zero"};
      return;
    }
    description_.fixtures = reader_.strings_of(*node, "'fixtures'");
    if (description_.fixtures.empty()) reader_.fail(*node, "'fixtures' is empty");
    for (const std::string& name : description_.fixtures) {
      if (std::ranges::find(kFixtures, name) == kFixtures.end())
        reader_.fail(*node, fmt::format("'fixtures' has '{}'; accepted: {}", name, fmt::join(kFixtures, ", ")));
    }
  }

  const TomlReader& reader_;
  CustomDescription description_;
  std::set<std::string, std::less<>> names_;
};

}  // namespace

CustomDescription read_custom(const TomlReader& reader, const toml::table& root) { return CustomReader(reader).read(root); }

}  // namespace assay::kernels
