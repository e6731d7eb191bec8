// Lists arguments, fields and function constants with the expressions that a launch has for them.
#include "harness/triage/given_names.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <string_view>

namespace assay::harness {
namespace {

// `constant bool has_sinks [[function_constant(3)]];`: "has_sinks" by "3".
std::map<std::string_view, std::string_view> constants_by_index(const Source& source) {
  std::map<std::string_view, std::string_view> names;
  for (const SourcePiece& piece : source.pieces()) {
    const std::vector<SourceToken>& tokens = piece.tokens;
    for (std::size_t i = 3; i + 2 < tokens.size(); ++i) {
      if (tokens[i].is("function_constant") && tokens[i - 1].is("[") && tokens[i - 2].is("[") && tokens[i + 1].is("("))
        names.emplace(tokens[i + 2].text, tokens[i - 3].text);
    }
  }
  return names;
}

}  // namespace

std::vector<GivenName> given_names(const kernels::Variant& variant, const Source& source) {
  std::vector<GivenName> names;
  if (!variant.launch) return names;
  const std::map<std::string_view, std::string_view> constants = constants_by_index(source);
  const auto add_elements = [&](const std::string& name, const std::vector<kernels::Expression>& elements) {
    for (std::size_t i = 0; i < elements.size(); ++i)
      names.push_back({name, &elements[i], elements.size() > 1 ? std::optional(i) : std::nullopt});
  };
  for (const kernels::DispatchDescription& dispatch : variant.launch->dispatches) {
    for (const auto& [key, expression] : dispatch.constants) {
      const auto named = constants.find(key);
      const bool is_index = std::isdigit(static_cast<unsigned char>(key.front())) != 0;
      if (named != constants.end() || !is_index) names.push_back({is_index ? std::string(named->second) : key, &expression});
    }
    for (const auto& [name, argument] : dispatch.arguments) {
      add_elements(name, argument.elements);
      for (const auto& [field, elements] : argument.fields) add_elements(field, elements);
    }
  }
  return names;
}

std::vector<std::string> given_to(std::span<const GivenName> names, std::string_view name) {
  std::vector<std::string> given;
  for (const GivenName& one : names) {
    if (one.name == name) std::ranges::move(one.given->names(), std::back_inserter(given));
  }
  return given;
}

std::vector<std::pair<std::string, std::string>> names_with_attributes(const Source& source) {
  std::vector<std::pair<std::string, std::string>> names;
  for (const SourcePiece& piece : source.pieces()) {
    const std::vector<SourceToken>& tokens = piece.tokens;
    for (std::size_t i = 0; i + 4 < tokens.size(); ++i) {
      if (tokens[i].is_identifier() && tokens[i + 1].is("[") && tokens[i + 2].is("[") && tokens[i + 4].is("]"))
        names.emplace_back(tokens[i].text, tokens[i + 3].text);
    }
  }
  return names;
}

}  // namespace assay::harness
