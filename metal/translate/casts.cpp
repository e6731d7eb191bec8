// Casts that may be between half and bfloat. Which ones are, only the compiler knows; see Translation::Casts.
#include <algorithm>
#include <array>

#include "metal/translate/translator.h"

namespace assay::metal::translate {

namespace {

template <std::size_t Count>
bool is_one_of(const Token& token, const std::array<std::string_view, Count>& words) {
  return token.kind != TokenKind::string && std::find(words.begin(), words.end(), token.text) != words.end();
}

// What can stand before an expression. Behind a type or a qualifier, parentheses declare something.
constexpr std::array<std::string_view, 35> kBeforeExpression = {
    "(",  ",",  "[",  "{",  "=",  "+",  "-",  "*",  "/",  "%",  "&",  "|",  "^",  "!",  "~",      "?",    ":",   ">",
    "<=", ">=", "==", "!=", "&&", "||", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "return", "case", "else"};
constexpr std::array<std::string_view, 8> kUnary = {"-", "+", "!", "~", "*", "&", "++", "--"};

bool starts_operand(const Token& token) {
  if (token.kind == TokenKind::number) return true;
  if (token.kind == TokenKind::identifier) return true;
  return token.is("(") || token.is("::");
}

}  // namespace

void Translator::collect_type_names() {
  type_names_ = {"half", "bfloat"};
  for (std::size_t index = 0; index + 2 < tokens_.size(); ++index) {
    const Token& name = tokens_[index + 1];
    if (tokens_[index].is("typedef")) {
      const std::size_t end = tokens_.semicolon(index);
      if (tokens_[end - 1].kind == TokenKind::identifier) type_names_.emplace(tokens_[end - 1].text);
      continue;
    }
    if (name.kind != TokenKind::identifier) continue;
    const Token& next = tokens_[index + 2];
    const bool parameter = (tokens_[index].is("typename") || tokens_[index].is("class")) && (next.is(",") || next.is(">") || next.is("="));
    const bool alias = tokens_[index].is("using") && next.is("=");
    if (parameter || alias) type_names_.emplace(name.text);
  }
}

void Translator::note_cast(std::size_t index) {
  const Token& token = tokens_[index];
  if (token.is("static_cast") && tokens_[index + 1].is("<")) {
    const auto close = tokens_.closing_angle(index + 1);
    if (!close || !tokens_[*close + 1].is("(")) return;
    const std::string type = tokens_.text(index + 2, *close);
    const Token& last = tokens_[*close - 1];
    if (last.is("*") || last.is("&") || last.is("&&")) return;
    note_cast_of(type, *close + 2, tokens_.closing(*close + 1) - 1);
  } else if (token.kind == TokenKind::identifier && tokens_[index + 1].is("(") && type_names_.contains(token.text)) {
    note_functional_cast(index);
  } else if (token.is("(") && tokens_[index + 2].is(")") && type_names_.contains(tokens_[index + 1].text)) {
    note_c_cast(index);
  }
}

// In a function's body or in values in braces, where a type in front of parentheses converts more often than it declares.
bool Translator::inside_expressions() const {
  return inside_function() || (!frames_.empty() && frames_.back().scope == Scope::initializer);
}

void Translator::note_functional_cast(std::size_t name) {
  if (name == 0 || !is_one_of(tokens_[name - 1], kBeforeExpression)) return;
  // Outside of bodies: a constructor's initialisers and default values.
  if (!inside_expressions() && !tokens_[name - 1].is("(") && !tokens_[name - 1].is("=")) return;
  const std::size_t open = name + 1;
  const std::size_t close = tokens_.closing(open);
  // `T (&x)[4]` and `T (*f)(int)` declare.
  if (tokens_[close + 1].is("[") || tokens_[close + 1].is("(")) return;
  for (std::size_t index = open + 1; index < close; ++index) {
    if (tokens_[index].is("(") || tokens_[index].is("[") || tokens_[index].is("{")) {
      index = tokens_.closing(index);
    } else if (tokens_[index].is(",") || tokens_[index].is("...")) {
      return;
    }
  }
  note_cast_of(std::string(tokens_[name].text), open + 1, close - 1);
}

void Translator::note_c_cast(std::size_t open) {
  // Behind a name or a closing parenthesis these are arguments, and behind `sizeof` an operand.
  if (open == 0 || !inside_expressions()) return;
  const Token& previous = tokens_[open - 1];
  if (!is_one_of(previous, kBeforeExpression) && !previous.is(";") && !previous.is(")") && !previous.is("}")) return;
  if (!starts_operand(tokens_[open + 3]) && !is_one_of(tokens_[open + 3], kUnary)) return;
  const std::size_t end = operand_end(open + 3);
  if (end > open + 3) note_cast_of(std::string(tokens_[open + 1].text), open + 3, end - 1);
}

void Translator::note_cast_of(std::string type, std::size_t first, std::size_t last) {
  if (last < first) return;
  // A literal converts by itself, and 0 may be a null pointer.
  if (first == last && (tokens_[first].kind == TokenKind::number || tokens_[first].kind == TokenKind::string)) return;
  result_.casts_.push_back({std::move(type), first, last});
}

// One past the last token of the unary expression that begins at `first`.
std::size_t Translator::operand_end(std::size_t first) const {
  const auto is_cast = [this](std::size_t open) {
    return tokens_[open].is("(") && tokens_[open + 2].is(")") && type_names_.contains(tokens_[open + 1].text) &&
           starts_operand(tokens_[open + 3]);
  };
  std::size_t index = first;
  while (is_one_of(tokens_[index], kUnary) || is_cast(index)) index += is_cast(index) ? 3 : 1;
  if (tokens_[index].is("(")) {
    index = tokens_.closing(index) + 1;
  } else {
    while (tokens_[index].is("::") || tokens_[index].kind == TokenKind::identifier || tokens_[index].kind == TokenKind::number) {
      const bool may_have_arguments = tokens_[index].kind == TokenKind::identifier && tokens_[index + 1].is("<");
      ++index;
      if (!may_have_arguments) {
        if (!tokens_[index].is("::") && !tokens_[index - 1].is("::")) break;
        continue;
      }
      const auto close = tokens_.closing_angle(index);
      if (!close || !(tokens_[*close + 1].is("(") || tokens_[*close + 1].is("::"))) break;
      index = *close + 1;
      if (!tokens_[index].is("::")) break;
    }
  }
  for (;;) {
    if (tokens_[index].is("(") || tokens_[index].is("[")) {
      index = tokens_.closing(index) + 1;
    } else if (tokens_[index].is(".") || tokens_[index].is("->")) {
      index += 2;
    } else if (tokens_[index].is("++") || tokens_[index].is("--")) {
      ++index;
    } else {
      return index;
    }
  }
}

}  // namespace assay::metal::translate
