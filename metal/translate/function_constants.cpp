// Reads function constants: the constants that specialise a pipeline.
#include <fmt/format.h>

#include <algorithm>

#include "metal/errors.h"
#include "metal/translate/translator.h"

namespace assay::metal::translate {

// `constant int a [[function_constant(0)]], b [[function_constant(1)]];`. C++ allows the attributes in several places;
// all are accepted.
std::size_t Translator::function_constant(std::size_t first) {
  struct Declarator {
    std::size_t name = 0;
    const Attribute* attribute = nullptr;
  };
  std::vector<Declarator> declarators(1);
  std::size_t end = first;
  for (; !tokens_[end].is(";"); ++end) {
    const Token& token = tokens_[end];
    if (end == tokens_.size() || token.is("{") || token.is("}") || token.is("(") || token.is("=")) return first;
    if (const auto range = attribute_end_.find(end); range != attribute_end_.end()) {
      const auto list = std::lower_bound(attributes_.begin(), attributes_.end(), end,
                                         [](const AttributeList& l, std::size_t at) { return l.first < at; });
      if (const auto* attribute = list->find("function_constant")) declarators.back().attribute = attribute;
      end = range->second;
    } else if (token.is("<") && end > first && tokens_[end - 1].kind == TokenKind::identifier) {
      end = tokens_.closing_angle(end).value_or(end);  // `vec<float, 4>`
    } else if (token.is(",")) {
      declarators.emplace_back();
    } else if (token.kind == TokenKind::identifier) {
      declarators.back().name = end;
    }
  }
  if (std::none_of(declarators.begin(), declarators.end(), [](const Declarator& d) { return d.attribute != nullptr; })) return first;

  std::string type;
  for (std::size_t index = first; index < declarators.front().name; ++index) {
    const Token& token = tokens_[index];
    if (const auto range = attribute_end_.find(index); range != attribute_end_.end()) index = range->second;
    if (token.is("[") || token.is("constant") || token.is("const") || token.is("static") || token.is("constexpr")) continue;
    if (!type.empty()) type += ' ';
    type += token.text;
  }
  const FunctionConstantType shape = shape_of_constant(declarators.front().name, type);
  for (const auto& declarator : declarators) {
    const auto name = tokens_[declarator.name].text;
    if (declarator.attribute == nullptr)
      tokens_.fail(declarator.name, fmt::format("constant '{}' is declared together with function constants and is not one", name));
    const auto [unused, index_first, index_last] = *declarator.attribute;
    const auto value = constants_.value(index_first, index_last, qualified(""));
    if (!value) {
      tokens_.fail(declarator.name, fmt::format("function constant '{}': the index '{}' is not known: {}", name,
                                                tokens_.brief(index_first, index_last), kAcceptedConstants));
    }
    if (*value < 0 || *value > 65535)
      tokens_.fail(declarator.name, fmt::format("function constant '{}': the index must be an integer from 0 to 65535", name));
    FunctionConstantUse constant;
    constant.name = name;
    constant.type = type;
    constant.shape = shape;
    constant.index = static_cast<std::uint32_t>(*value);
    constant.file = tokens_.file(declarator.name);
    constant.line = tokens_[declarator.name].line;
    constant.last_token = end;
    result_.constants_.push_back(std::move(constant));
  }
  tokens_.remove(first, end);
  return end + 1;
}

// A type that the source names itself must be looked up by the compiler.
FunctionConstantType Translator::shape_of_constant(std::size_t name, const std::string& type) const {
  if (const auto known = function_constant_type(type)) return *known;
  const auto shape = constants_.ask(fmt::format("::__assay::constant_shape<{}>", type), qualified(""));
  if (constants_.is_asking() || !shape) return {};
  // The encoding of metal/shader/entry.h.
  if (*shape == 0)
    tokens_.fail(name, fmt::format("function constant '{}': its type '{}' is neither a scalar nor a vector", tokens_[name].text, type));
  return {static_cast<FunctionConstantType::Scalar>(*shape % 4), static_cast<std::uint32_t>(*shape / 4)};
}

void Translator::defined_query(std::size_t index) {
  const std::size_t close = tokens_[index + 1].is("(") ? tokens_.closing(index + 1) : index;
  if (close < index + 3 || tokens_[close - 1].kind != TokenKind::identifier)
    tokens_.fail(index, "is_function_constant_defined takes the name of a function constant");
  result_.defined_queries_.push_back({index, close, std::string(tokens_[close - 1].text)});
  // Text around the query, such as a conditional, stays.
  for (std::size_t token = index; token <= close; ++token) tokens_[token].replacement = "";
}

}  // namespace assay::metal::translate
