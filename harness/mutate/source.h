// A Metal source as mutation sees it: tokens with their places in the unpreprocessed file.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "metal/translate/lexer.h"

namespace assay::harness {

template <std::size_t N>
bool among(const std::array<std::string_view, N>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

struct SourceToken {
  metal::translate::TokenKind kind = metal::translate::TokenKind::end;
  std::string_view text;   // refers to Source::text
  std::size_t offset = 0;  // in bytes
  bool is_angle = false;   // a `<` or `>` that delimits template arguments or parameters
  std::size_t match = 0;   // for a bracket, including angle brackets: index of its partner in the same piece

  [[nodiscard]] bool is(std::string_view expected) const { return text == expected && kind != metal::translate::TokenKind::string; }
  [[nodiscard]] bool is_identifier() const { return kind == metal::translate::TokenKind::identifier; }
};

// Tokens that belong together: the file without its preprocessor lines, or the body of one macro. `<<`, `>>`, `<<=` and `>>=` are
// single tokens here.
struct SourcePiece {
  std::vector<SourceToken> tokens;
  bool is_macro = false;
};

struct SourcePlace {
  std::uint32_t line = 0, column = 0;  // from 1; columns count bytes
};

class Source {
 public:
  // `name` appears in messages. Macro bodies are treated as code, except those that instantiate or declare (with `template` or an
  // attribute), because they contain no arithmetic. Throws metal::CompileError for text that cannot be split into tokens or whose
  // brackets do not match.
  Source(std::string text, std::string name);

  [[nodiscard]] const std::string& text() const { return *text_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::vector<SourcePiece>& pieces() const { return pieces_; }

  [[nodiscard]] SourcePlace place(std::size_t offset) const;
  // The line with this number, from 1, without its line break.
  [[nodiscard]] std::string_view line(std::uint32_t number) const;
  [[nodiscard]] std::uint32_t line_count() const { return static_cast<std::uint32_t>(line_starts_.size()); }

 private:
  // Returns the directives of the code.
  std::vector<metal::translate::Directive> add_piece(std::string code, std::size_t offset, bool is_macro);

  std::shared_ptr<const std::string> text_;
  std::string name_;
  std::vector<std::size_t> line_starts_;
  std::vector<SourcePiece> pieces_;
};

}  // namespace assay::harness
