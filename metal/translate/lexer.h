// Splits Metal source into tokens. Preprocessed source can be edited and written out again, line for line; source can also be
// read as written.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::metal::translate {

enum class TokenKind { identifier, number, string, punctuation, end };

// One token with the text before it. The output for a token is, in this order: `before`, `leading`, `replacement` or
// else `text`, `after`.
struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;
  std::string_view leading;  // white space, line markers and pragmas
  std::uint32_t file = 0;    // index into TokenStream::files
  std::uint32_t line = 0;
  std::string before;
  std::string after;
  std::optional<std::string> replacement;
  bool drops_pragmas = false;  // drops the pragmas of `leading`: no pragma may stand where a statement was removed

  [[nodiscard]] bool is(std::string_view expected) const { return text == expected && kind != TokenKind::string; }
};

// Parentheses, brackets and braces.
[[nodiscard]] inline bool opens(const Token& token) { return token.is("(") || token.is("[") || token.is("{"); }
[[nodiscard]] inline bool closes(const Token& token) { return token.is(")") || token.is("]") || token.is("}"); }

// `<<`, `>>`, `<<=` and `>>=` are two adjacent tokens each.
[[nodiscard]] inline bool is_shift(std::string_view first, std::string_view second) {
  return (first == "<" && (second == "<" || second == "<=")) || (first == ">" && (second == ">" || second == ">="));
}

// Bytes [first, last) of a source: a preprocessor directive from its `#`, including lines that a backslash joins to it.
struct Directive {
  std::size_t first = 0, last = 0;
  std::size_t body = 0;  // start of the replacement text of a macro; == last: none
};

struct TokenStream {
  std::shared_ptr<const std::string> source;  // owns the text that the tokens refer to
  std::vector<Token> tokens;                  // the last one is of kind `end`
  std::vector<std::string> files;
  std::vector<Directive> directives;  // only for Form::written
};

enum class Form {
  preprocessed,  // `# <line> "<file>"` markers set the position of the following text
  written,       // directives are listed separately, not as tokens; lines are those of the file
  compared,      // for comparing sources: directives are ordinary tokens, an unterminated literal is a sign, and so is `\`
};

// Comments count as white space. `<` and `>` are always separate tokens, so that `>>` can close two template argument lists. No token
// contains a line break.
//
// Throws CompileError for an unterminated string or comment, for a raw string of several lines, and for a source larger than limits.h
// allows. Form::compared never throws.
[[nodiscard]] TokenStream tokenize(std::string source, std::string file, Form form = Form::preprocessed);

// Whether a source as written includes another file in quotes, so a neighbour. Comments do not count.
[[nodiscard]] bool has_quoted_include(std::string source);

// The precedence of a binary operator without assignments, from 1 for || to 10 for *; 0 for other text.
[[nodiscard]] int binary_precedence(std::string_view op);

// Text of a source for a message, with control characters as '?': a NUL would end the message.
[[nodiscard]] std::string printable(std::string_view text);

// The text before a token, without its line markers and, if `pragmas_too`, without its pragmas. Keeps line breaks.
[[nodiscard]] std::string without_directives(std::string_view leading, bool pragmas_too);

// Writes the tokens with their edits.
[[nodiscard]] std::string write(const TokenStream& stream);

}  // namespace assay::metal::translate
