// Reads a source for makers of edits.
#include "harness/triage/edit_maker.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace assay::harness {

std::string_view plain(std::string_view type) { return type.substr(0, type.find(' ')); }

double likeness(std::string_view one, std::string_view other) {
  std::size_t front = 0, back = 0;
  const std::size_t shorter = std::min(one.size(), other.size());
  while (front < shorter && one[front] == other[front]) ++front;
  while (back < shorter - front && one[one.size() - 1 - back] == other[other.size() - 1 - back]) ++back;
  return static_cast<double>(front + back) / static_cast<double>(std::max(one.size(), other.size()));
}

EditMaker::EditMaker(const Source& source, const SourcePiece& piece, const LineSuspicion& suspicion)
    : source_(source), tokens_(piece.tokens), suspicion_(suspicion), structure_(read_structure(piece)), members_(members_of(piece)) {
  find_arrays();
  find_sizes();
  for (const Expression& expression : structure_.expressions) {
    for (const Variable& variable : expression.variables) named_.insert(variable.name);
  }
  for (const Expression& expression : structure_.expressions) terms_.push_back(terms_of(tokens_, expression.range, expression.is_offset));
}

void EditMaker::find_arrays() {
  for (std::size_t i = 0; i + 2 < tokens_.size(); ++i) {
    if (tokens_[i].is_identifier() && tokens_[i + 1].is("[") && !tokens_[i + 2].is("[")) arrays_.insert(tokens_[i].text);
  }
}

void EditMaker::find_sizes() {
  constexpr std::size_t most = 10;
  for (std::size_t i = 1; i + 1 < tokens_.size() && sizes_.size() < most; ++i) {
    const bool is_constant = i >= 2 && (tokens_[i - 2].is("constexpr") || tokens_[i - 2].is("constant") || tokens_[i - 2].is("const"));
    const bool is_parameter = tokens_[i - 1].is("int") && (tokens_[i + 1].is(",") || tokens_[i + 1].is(">"));
    const bool is_named = tokens_[i].is_identifier() && is_integer_type(tokens_[i - 1].text);
    if (is_named && ((is_constant && tokens_[i + 1].is("=")) || is_parameter)) sizes_.insert(tokens_[i].text);
  }
}

bool EditMaker::is_suspect(TokenRange range) const {
  constexpr double least = 0.03;
  if (range.is_empty()) return false;
  const std::uint32_t last = source_.place(tokens_[range.last - 1].offset).line;
  for (std::uint32_t line = line_of(range); line <= last; ++line) {
    if (suspicion_.of(line) >= least) return true;
  }
  return false;
}

std::string_view EditMaker::text_of(TokenRange range) const {
  const SourceToken& last = tokens_[range.last - 1];
  const std::size_t begin = tokens_[range.first].offset;
  return std::string_view(source_.text()).substr(begin, last.offset + last.text.size() - begin);
}

void EditMaker::replace(std::string_view op, TokenRange range, std::string text) {
  const std::string_view before = text_of(range);
  if (before == text) return;
  const std::size_t offset = tokens_[range.first].offset;
  if (known_.emplace(offset, before.size(), text).second) edits_.push_back({op, offset, before.size(), std::move(text)});
}

const Variable* EditMaker::find_variable(const Expression& expression, std::string_view name) {
  const auto found = std::ranges::find(expression.variables.rbegin(), expression.variables.rend(), name, &Variable::name);
  return found == expression.variables.rend() ? nullptr : &*found;
}

bool EditMaker::is_float(const Expression& expression, std::size_t i) const {
  if (tokens_[i].is("]") && tokens_[i].match > 0) i = tokens_[i].match - 1;
  if (tokens_[i].kind == metal::translate::TokenKind::number) return tokens_[i].text.find('.') != std::string_view::npos;
  const Variable* variable = is_member(i) ? nullptr : find_variable(expression, tokens_[i].text);
  const std::string_view type = is_member(i) ? members_.type_of(tokens_[i].text) : variable == nullptr ? "" : plain(variable->type);
  return type.starts_with("float") || type.starts_with("half") || type.starts_with("bfloat");
}

std::string_view EditMaker::type_as(const Expression& expression, std::size_t i, std::string_view name) const {
  if (is_member(i)) return members_.type_of(name);
  const Variable* variable = find_variable(expression, name);
  return variable == nullptr ? std::string_view() : plain(variable->type);
}

std::vector<std::string> EditMaker::integers_in_scope(const Expression& expression) const {
  constexpr std::string_view components = "xyzw";
  std::vector<std::string> names;
  const auto add = [&](std::string name, std::string_view type) {
    if (is_integer_type(type)) {
      names.push_back(std::move(name));
    } else if (!type.empty() && type.back() >= '2' && type.back() <= '4' && is_integer_type(type.substr(0, type.size() - 1))) {
      for (const char component : components.substr(0, static_cast<std::size_t>(type.back() - '0')))
        names.push_back(fmt::format("{}.{}", name, component));
    }
  };
  for (auto variable = expression.variables.rbegin(); variable != expression.variables.rend(); ++variable) {
    if (variable->type.find('*') != std::string::npos || is_array(variable->name)) continue;
    add(std::string(variable->name), plain(variable->type));
    for (const auto& [name, type] : members_.of_struct(plain(variable->type))) {
      if (!is_array(name)) add(fmt::format("{}.{}", variable->name, name), type);
    }
  }
  return names;
}

bool EditMaker::names_pointer(const Expression& expression, TokenRange term) const {
  for (std::size_t i = term.first; i < term.last; ++i) {
    const Variable* variable = tokens_[i].is_identifier() ? find_variable(expression, tokens_[i].text) : nullptr;
    if (variable != nullptr && !is_member(i) && !tokens_[i + 1].is("[") && variable->type.find('*') != std::string::npos) return true;
  }
  return false;
}

bool EditMaker::is_known_in(const Expression& expression, TokenRange term) const {
  for (std::size_t i = term.first; i < term.last; ++i) {
    if (!tokens_[i].is_identifier() || is_member(i)) continue;
    if (named_.contains(tokens_[i].text) && find_variable(expression, tokens_[i].text) == nullptr) return false;
  }
  return true;
}

bool EditMaker::changes_something(TokenRange term) const {
  for (std::size_t i = term.first; i < term.last; ++i) {
    if (tokens_[i].is("++") || tokens_[i].is("--") || (tokens_[i].text.ends_with("=") && !among(kTwoSignComparisons, tokens_[i].text)))
      return true;
  }
  return false;
}

}  // namespace assay::harness
