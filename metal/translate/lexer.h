// Splits preprocessed Metal source into tokens that can be edited and written out again, line for line.
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

struct TokenStream {
  std::shared_ptr<const std::string> source;  // what the tokens' texts point into
  std::vector<Token> tokens;                  // the last one is of kind `end`
  std::vector<std::string> files;
};

// Tokenises the output of the preprocessor: `# <line> "<file>"` markers set the position of what follows. Comments count as
// white space. `<` and `>` are always tokens of their own, so that `>>` can close two template argument lists.
//
// Throws CompileError for a string or a comment that does not end, for a raw string of several lines, and for a source larger than limits.h
// has it. No token holds a line break.
[[nodiscard]] TokenStream tokenize(std::string source, std::string file);

// Text of a source for a message, which would end at a NUL: control characters as '?'.
[[nodiscard]] std::string printable(std::string_view text);

// What stands before a token without its line markers, and without its pragmas if so wished, line breaks kept.
[[nodiscard]] std::string without_directives(std::string_view leading, bool pragmas_too);

// Writes the tokens out, edits applied.
[[nodiscard]] std::string write(const TokenStream& stream);

}  // namespace assay::metal::translate
