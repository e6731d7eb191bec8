// Navigates tokens: matching brackets, template argument lists, statements, attributes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "metal/translate/lexer.h"
#include "metal/translate/limits.h"

namespace assay::metal::translate {

// `name` or `name(arguments)` of an attribute list.
struct Attribute {
  std::string name;
  std::size_t first_argument = 0;  // token range [first, last), empty without parentheses
  std::size_t last_argument = 0;
};

// `[[ ... ]]`, from its first to its last bracket.
struct AttributeList {
  std::size_t first = 0;
  std::size_t last = 0;
  std::vector<Attribute> attributes;

  [[nodiscard]] const Attribute* find(std::string_view name) const;
};

// Whether the token names an address space.
[[nodiscard]] bool is_space_word(const Token& token);

class Cursor {
 public:
  explicit Cursor(TokenStream& stream) : stream_(stream) {}

  // Throws CompileError for an index after the end token or before the first one, and after more accesses than any real
  // source needs (limits.h).
  [[nodiscard]] Token& operator[](std::size_t index) { return stream_.tokens[checked(index)]; }
  [[nodiscard]] const Token& operator[](std::size_t index) const { return stream_.tokens[checked(index)]; }
  [[nodiscard]] std::size_t size() const { return stream_.tokens.size() - 1; }  // excludes the end token

  // Throws CompileError at the place of the token.
  [[noreturn]] void fail(std::size_t index, std::string_view message) const;
  [[nodiscard]] const std::string& file(std::size_t index) const { return stream_.files[stream_.tokens[checked(index)].file]; }
  // Counts other work on the tokens around `index`, one unit per character copied or name looked up.
  void spend(std::size_t index, std::size_t units) const {
    work_ += units;
    if (work_ > kMostWork) refuse_work(index);
  }
  // Throws CompileError if brackets nest deeper than kDeepestNesting, because the functions that follow brackets are recursive.
  void require_shallow() const;

  // The bracket that closes the one at `open`: ( [ {. Throws CompileError if there is none.
  [[nodiscard]] std::size_t closing(std::size_t open) const;
  // The bracket that opens the one at `close`.
  [[nodiscard]] std::optional<std::size_t> opening(std::size_t close) const;
  // The `>` that closes the `<` at `open`; empty if that `<` opens no template list.
  [[nodiscard]] std::optional<std::size_t> closing_angle(std::size_t open) const;
  // The `<` that opens the list closed by the `>` at `close`.
  [[nodiscard]] std::optional<std::size_t> opening_angle(std::size_t close) const;
  // The last token of the statement that begins at `first`.
  [[nodiscard]] std::size_t statement_end(std::size_t first) const;
  // The first `;` at the nesting depth of `first`.
  [[nodiscard]] std::size_t semicolon(std::size_t first) const;

  [[nodiscard]] bool attributes_at(std::size_t index) const;
  [[nodiscard]] AttributeList read_attributes(std::size_t index) const;

  // The source text of the tokens [first, last), on one line.
  [[nodiscard]] std::string text(std::size_t first, std::size_t last) const;
  // The same for a message; truncated if it is long.
  [[nodiscard]] std::string brief(std::size_t first, std::size_t last) const;
  // Removes the tokens [first, last) from the output, but keeps their line breaks and markers.
  void remove(std::size_t first, std::size_t last);

 private:
  [[nodiscard]] std::size_t checked(std::size_t index) const {
    if (index >= stream_.tokens.size()) refuse_place(index);
    spend(index, 1);
    return index;
  }
  [[noreturn]] void refuse_place(std::size_t index) const;
  [[noreturn]] void refuse_work(std::size_t index) const;
  [[nodiscard]] std::size_t end_of_statement(std::size_t first, int depth) const;

  TokenStream& stream_;
  mutable std::size_t work_ = 0;
};

}  // namespace assay::metal::translate
