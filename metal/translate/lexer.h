// Splits Metal source into tokens: preprocessed, so that they can be edited and written out again, line for line; or as it is written.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::metal::translate {

enum class TokenKind { identifier, number, string, punctuation, end };

// One token with the text that stands before it. What is written out for it is, in this order: `before`, `leading`,
// `replacement` or else `text`, `after`.
struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;
  std::string_view leading;  // white space, line markers and pragmas
  std::uint32_t file = 0;    // index into TokenStream::files
  std::uint32_t line = 0;
  std::string before;
  std::string after;
  std::optional<std::string> replacement;
  bool drops_pragmas = false;  // of `leading`: those of a statement that is gone stand where no pragma may

  [[nodiscard]] bool is(std::string_view expected) const { return text == expected && kind != TokenKind::string; }
};

// Of parentheses, brackets and braces.
[[nodiscard]] inline bool opens(const Token& token) { return token.is("(") || token.is("[") || token.is("{"); }
[[nodiscard]] inline bool closes(const Token& token) { return token.is(")") || token.is("]") || token.is("}"); }

// `<<`, `>>`, `<<=` and `>>=` are two tokens each, next to each other.
[[nodiscard]] inline bool is_shift(std::string_view first, std::string_view second) {
  return (first == "<" && (second == "<" || second == "<=")) || (first == ">" && (second == ">" || second == ">="));
}

// Bytes [first, last) of a source: a preprocessor line, with those that a backslash joins to it, from its `#` on.
struct Directive {
  std::size_t first = 0, last = 0;
  std::size_t body = 0;  // where that begins which a macro stands for; == last: none
};

struct TokenStream {
  std::shared_ptr<const std::string> source;  // what the tokens' texts point into
  std::vector<Token> tokens;                  // the last one is of kind `end`
  std::vector<std::string> files;
  std::vector<Directive> directives;  // of a source as it is written
};

enum class Form {
  preprocessed,  // `# <line> "<file>"` markers set the position of what follows
  written,       // directives are left out, and told of apart; lines are those of the file
  compared,  // as it is written, for those who compare: directives are tokens like all others, what does not end is a sign, and so is `\`
};

// Comments count as white space. `<` and `>` are always tokens of their own, so that `>>` can close two template argument lists.
//
// Throws CompileError for a string or a comment that does not end, for a raw string of several lines, and for a source larger than limits.h
// allows; never for Form::compared. No token holds a line break.
[[nodiscard]] TokenStream tokenize(std::string source, std::string file, Form form = Form::preprocessed);

// Text of a source for a message, which would end at a NUL: control characters as '?'.
[[nodiscard]] std::string printable(std::string_view text);

// What stands before a token without its line markers, and without its pragmas if so wished, line breaks kept.
[[nodiscard]] std::string without_directives(std::string_view leading, bool pragmas_too);

// Writes the tokens out, edits applied.
[[nodiscard]] std::string write(const TokenStream& stream);

}  // namespace assay::metal::translate
