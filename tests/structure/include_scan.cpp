// A scanner that skips comments, strings and raw strings.
#include "tests/structure/include_scan.h"

#include <algorithm>
#include <cctype>
#include <optional>

namespace assay::tests {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_blank(char c) { return c == ' ' || c == '\t'; }

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::vector<Include> run() {
    bool at_line_start = true;
    while (!done()) {
      const char c = peek();
      if (c == '\n') {
        advance();
        at_line_start = true;
      } else if (is_blank(c) || c == '\r') {
        advance();
      } else if (starts_with("//")) {
        skip_line();
      } else if (starts_with("/*")) {
        skip_block_comment();
      } else if (c == '#' && at_line_start) {
        directive();
        at_line_start = false;
      } else {
        at_line_start = false;
        token();
      }
    }
    return std::move(includes_);
  }

 private:
  [[nodiscard]] bool done() const { return position_ >= text_.size(); }
  [[nodiscard]] char peek() const { return text_[position_]; }
  [[nodiscard]] bool starts_with(std::string_view prefix) const { return text_.substr(position_).starts_with(prefix); }

  void advance() {
    if (peek() == '\n') ++line_;
    ++position_;
  }
  void advance_to(std::size_t position) {
    while (!done() && position_ < position) advance();
  }
  void skip_line() { advance_to(text_.find('\n', position_)); }
  void skip_block_comment() {
    const std::size_t end = text_.find("*/", position_ + 2);
    advance_to(end == std::string_view::npos ? end : end + 2);
  }
  void skip_blanks() {
    while (!done() && is_blank(peek())) advance();
  }

  std::string_view word() {
    const std::size_t begin = position_;
    while (!done() && is_word(peek())) ++position_;
    return text_.substr(begin, position_ - begin);
  }

  void directive() {
    const unsigned line = line_;
    advance();
    skip_blanks();
    const std::string_view name = word();
    if (name != "include" && name != "include_next" && name != "import") return;
    skip_blanks();
    const std::size_t line_end = std::min(text_.find('\n', position_), text_.size());
    const std::string_view rest = text_.substr(position_, line_end - position_);
    const auto delimited = [&](char open, char close) -> std::optional<std::string_view> {
      const std::size_t end = rest.find(close, 1);
      if (!rest.starts_with(open) || end == std::string_view::npos) return std::nullopt;
      return rest.substr(1, end - 1);
    };
    if (const auto quoted = delimited('"', '"')) {
      includes_.push_back({Include::Form::quoted, std::string(*quoted), line});
    } else if (const auto angled = delimited('<', '>')) {
      includes_.push_back({Include::Form::angled, std::string(*angled), line});
    } else {
      includes_.push_back({Include::Form::computed, std::string(rest), line});
    }
    advance_to(line_end);
  }

  void token() {
    const char c = peek();
    if (is_digit(c)) {
      // A quote inside a number (1'000) separates digits and opens nothing.
      while (!done() && (is_word(peek()) || (peek() == '\'' && position_ + 1 < text_.size() && is_word(text_[position_ + 1])))) ++position_;
    } else if (is_word(c)) {
      const std::string_view prefix = word();
      const bool raw = prefix == "R" || prefix == "u8R" || prefix == "uR" || prefix == "UR" || prefix == "LR";
      if (raw && !done() && peek() == '"') raw_string();
    } else if (c == '"' || c == '\'') {
      quoted(c);
    } else {
      advance();
    }
  }

  // Ends at the line's end if it is not closed: an apostrophe in an #error text opens nothing.
  void quoted(char quote) {
    advance();
    while (!done() && peek() != quote && peek() != '\n') {
      if (peek() == '\\' && position_ + 1 < text_.size()) advance();
      advance();
    }
    if (!done() && peek() == quote) advance();
  }

  void raw_string() {
    const std::size_t open = text_.find('(', position_);
    if (open == std::string_view::npos) return advance_to(open);
    const std::string close = ")" + std::string(text_.substr(position_ + 1, open - position_ - 1)) + "\"";
    const std::size_t end = text_.find(close, open);
    advance_to(end == std::string_view::npos ? end : end + close.size());
  }

  std::string_view text_;
  std::size_t position_ = 0;
  unsigned line_ = 1;
  std::vector<Include> includes_;
};

}  // namespace

std::vector<Include> includes_of(std::string_view text) { return Scanner(text).run(); }

}  // namespace assay::tests
