// Places string literals, which lie in the constant address space in Metal.
#include <fmt/format.h>

#include "metal/translate/translator.h"

namespace assay::metal::translate {

// C++ for OpenCL keeps literals in a separate address space that converts to none of ours. So a literal that does not initialise an
// array becomes a table beside the declaration that contains it.
void Translator::place_text(std::size_t first) {
  if (!tokens_[first].text.ends_with('"') || first == 0) return;
  if (tokens_[first - 1].kind == TokenKind::string) return;  // part of the literal before it
  if (first > 1 && tokens_[first - 2].kind == TokenKind::string && ends_in_suffix(first - 2)) return;
  if (tokens_[first - 1].is("operator")) return;  // the empty literal in the name of a literal operator
  // Any of several adjacent literals may have the suffix; it applies to all of them.
  std::string literal;
  std::string_view suffix;
  std::size_t end = first;  // one past the last literal
  while (tokens_[end].kind == TokenKind::string) {
    literal += fmt::format("{}{}", literal.empty() ? "" : " ", tokens_[end].text);
    tokens_.spend(end, tokens_[end].text.size());
    if (ends_in_suffix(end)) suffix = tokens_[++end].text;
    ++end;
  }
  if (suffix.empty() && !may_be_placed(first)) return;
  const std::string name = table_of(literal);
  for (std::size_t index = first; index < end; ++index) tokens_[index].replacement = "";
  // By definition, a literal with a suffix is a call.
  tokens_[first].replacement = suffix.empty() ? name : fmt::format("operator\"\"{0}({1}, sizeof({1}) - 1)", suffix, name);
}

// The name of an array that holds the literal's characters.
std::string Translator::table_of(std::string_view literal) {
  std::string name = fmt::format("__assay_text_{}", texts_++);
  tokens_[declaration_].before += fmt::format(" static __global constexpr const char {}[] = {};", name, literal);
  return name;
}

// `"text"_suffix`
bool Translator::ends_in_suffix(std::size_t literal) const {
  const Token& next = tokens_[literal + 1];
  return next.kind == TokenKind::identifier && next.leading.empty() && next.text.starts_with('_');
}

bool Translator::may_be_placed(std::size_t literal) const {
  const Token& previous = tokens_[literal - 1];
  if (previous.is("extern") || previous.is("]")) return false;
  if (tokens_[statement_].is("static_assert")) return false;
  // `char text[] = "abc"`, `char text[]{"abc"}`.
  if ((previous.is("=") || previous.is("{")) && tokens_[literal - 2].is("]")) return declares_pointers(literal);
  if (!frames_.empty() && frames_.back().scope == Scope::initializer && !declares_pointers(frames_.back().brace)) return false;
  // The compiler itself reads these literals: builtins, attributes, assembler names.
  for (std::size_t index = literal; index-- > statement_;) {
    if (tokens_[index].is(")") || tokens_[index].is("]")) {
      const auto open = tokens_.opening(index);
      if (!open || *open <= statement_) break;
      index = *open;
    } else if (tokens_[index].is("(") && index > 0) {
      const auto name = tokens_[index - 1].text;
      if (name.starts_with("__builtin") || name == "static_assert" || name == "__attribute__" || name == "__asm__") return false;
    }
  }
  return true;
}

// Whether the literal before `index` initialises pointers, or a type that the source names, and not characters.
bool Translator::declares_pointers(std::size_t index) const {
  const std::size_t first = !frames_.empty() && frames_.back().scope == Scope::initializer ? frames_.back().outer_statement : statement_;
  for (std::size_t token = first; token < index; ++token) {
    if (tokens_[token].is("*")) return true;
  }
  for (std::size_t token = first; token < index; ++token) {
    if (tokens_[token].is("char") || tokens_[token].is("uchar") || tokens_[token].is("int8_t") || tokens_[token].is("uint8_t"))
      return false;
  }
  return true;
}

}  // namespace assay::metal::translate
