// Rewrites variables that a whole threadgroup shares.
#include <fmt/format.h>

#include "metal/errors.h"
#include "metal/translate/translator.h"

namespace assay::metal::translate {

// The declarators between the keyword at `index` and the semicolon at `end`; nothing if one of them is a pointer, a reference
// or a function.
std::optional<std::vector<Translator::Declarator>> Translator::declarators_of(std::size_t index, std::size_t end, std::string& alignment,
                                                                              std::vector<std::size_t>& dropped) {
  std::vector<Declarator> declarators;
  Declarator current{0, index, 0};
  for (std::size_t position = index + 1; position <= end; ++position) {
    const Token& token = tokens_[position];
    if (attribute_end_.contains(position)) {
      position = attribute_end_.at(position);
    } else if (token.is(",") || token.is(";")) {
      if (current.name == 0) return std::nullopt;
      declarators.push_back(current);
      current = {0, position, 0};
    } else if (token.is("{") && defines_type(position)) {
      position = current.last = tokens_.closing(position);
    } else if (token.is("=") || token.is("{") ||
               (token.is("(") && current.name == position - 1 && current.name != 0 && !tokens_[position + 1].is("&") &&
                !tokens_[position + 1].is("*"))) {
      if (current.name == 0) return std::nullopt;
      current.initializer = position;
      position = initializer_end(position);
    } else if (token.is("*") || token.is("&") || token.is("(")) {
      return std::nullopt;
    } else if (token.is("__attribute__") || token.is("alignas")) {
      const std::size_t close = tokens_.closing(position + 1);
      if (token.is("alignas")) alignment = tokens_.text(position + 2, close);
      for (; position <= close; ++position) dropped.push_back(position);
      --position;
    } else if (token.is("<")) {
      const auto close = tokens_.closing_angle(position);
      if (!close) return std::nullopt;
      position = current.last = *close;
    } else if (token.is("[")) {
      position = current.last = tokens_.closing(position);
    } else if (token.kind == TokenKind::identifier) {
      current.name = current.last = position;
    }
  }
  return declarators;
}

// `threadgroup T x[N];` in a kernel's body names memory that the whole threadgroup shares. It becomes a reference to that memory.
bool Translator::rewrite_threadgroup_variable(std::size_t first) {
  std::string alignment = "0";
  std::vector<std::size_t> dropped;
  std::size_t index = first;
  while (tokens_[index].is("alignas") || tokens_[index].is("__attribute__") || tokens_[index].is("static") ||
         tokens_[index].is("volatile") || attribute_end_.contains(index)) {
    if (attribute_end_.contains(index)) {
      index = attribute_end_.at(index) + 1;
      continue;
    }
    const bool has_argument = tokens_[index + 1].is("(");
    const std::size_t last = has_argument ? tokens_.closing(index + 1) : index;
    if (tokens_[index].is("alignas")) alignment = tokens_.text(index + 2, last);
    for (; index <= last; ++index) dropped.push_back(index);
  }
  if (!tokens_[index].is("threadgroup") || tokens_[index].replacement) return false;

  const std::size_t end = tokens_.semicolon(index);
  const auto declarators = declarators_of(index, end, alignment, dropped);
  if (!declarators) return false;
  for (const auto drop : dropped) tokens_.remove(drop, drop);
  tokens_[index].replacement = "__local";
  for (const auto& declarator : *declarators) {
    if (declarator.initializer != 0) {
      note(declarator.name,
           fmt::format("threadgroup variable '{}' has an initialiser, which no thread executes: its value is unspecified until "
                       "a thread stores one",
                       tokens_[declarator.name].text));
      tokens_.remove(declarator.initializer, initializer_end(declarator.initializer));
    }
    tokens_[declarator.name].replacement = fmt::format("(&{})", unreserved(tokens_[declarator.name].text));
    tokens_[declarator.last].after += fmt::format(" = __assay::threadgroup_variable<{}, {}>()", threadgroup_variables_++, alignment);
  }
  return true;
}

// Whether a brace encloses the members of a type: `struct {`, `struct Name {`.
bool Translator::defines_type(std::size_t brace) const {
  const auto is_keyword = [this](std::size_t index) {
    return tokens_[index].is("struct") || tokens_[index].is("class") || tokens_[index].is("union");
  };
  return is_keyword(brace - 1) || (brace > 1 && is_keyword(brace - 2));
}

// The last token of the initialiser that begins at `first` with `=` or a bracket.
std::size_t Translator::initializer_end(std::size_t first) const {
  return tokens_[first].is("=") ? value_end(first + 1) : tokens_.closing(first);
}

}  // namespace assay::metal::translate
