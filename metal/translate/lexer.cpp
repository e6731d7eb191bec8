// Splits text into tokens: comments, literals, line markers and pragmas.
#include "metal/translate/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <utility>

#include "metal/errors.h"
#include "metal/translate/limits.h"
#include "metal/translate/permitted.h"

namespace assay::metal::translate {

namespace {

bool starts_identifier(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || static_cast<unsigned char>(c) >= 0x80;
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool continues_identifier(char c) { return starts_identifier(c) || is_digit(c); }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

constexpr std::size_t kLongestDelimiter = 16;  // of a raw string, the limit of C++

constexpr std::array<std::string_view, 23> kPunctuation = {"...", "<=>", "->*", "::", "->", "++", "--", "+=", "-=", "*=", "/=", "%=",
                                                           "&=",  "|=",  "^=",  "==", "!=", "<=", ">=", "&&", "||", "##", ".*"};

class Lexer {
 public:
  Lexer(std::string source, std::string file, Form form) : form_(form) {
    stream_.source = std::make_shared<const std::string>(std::move(source));
    text_ = *stream_.source;
    file_numbers_.emplace(file, 0);
    stream_.files.push_back(std::move(file));
  }

  TokenStream run() {
    if (text_.size() > kLargestSource && is_strict())
      fail(fmt::format("the source has {} bytes once it is preprocessed; at most {} are translated", text_.size(), kLargestSource));
    for (;;) {
      if (stream_.tokens.size() > kMostTokens && is_strict()) fail(fmt::format("the source has more than {} words and signs", kMostTokens));
      const std::size_t leading = position_;
      skip_space();
      Token token;
      token.leading = text_.substr(leading, position_ - leading);
      token.file = file_;
      token.line = line_;
      const std::size_t start = position_;
      if (start < text_.size()) scan(token);
      token.text = text_.substr(start, position_ - start);
      stream_.tokens.push_back(std::move(token));
      if (start >= text_.size()) break;
    }
    return std::move(stream_);
  }

 private:
  bool is_strict() const { return form_ != Form::compared; }
  char at(std::size_t offset = 0) const { return position_ + offset < text_.size() ? text_[position_ + offset] : '\0'; }

  void advance() {
    if (at() == '\n') {
      ++line_;
      line_start_ = true;
    }
    ++position_;
  }

  [[noreturn]] void fail(std::string_view what) const {
    throw CompileError(fmt::format("{}:{}: error: {}", stream_.files[file_], line_, what));
  }

  void skip_space() {
    while (position_ < text_.size()) {
      const char c = at();
      if (is_blank(c) || c == '\n') {
        advance();
      } else if (c == '\\' && is_strict() && (at(1) == '\n' || (at(1) == '\r' && at(2) == '\n'))) {
        advance();
      } else if (c == '/' && at(1) == '/') {
        while (position_ < text_.size() && at() != '\n') advance();
      } else if (c == '/' && at(1) == '*') {
        skip_comment();
      } else if (c == '#' && line_start_ && form_ != Form::compared) {
        form_ == Form::written ? skip_written_directive() : skip_directive();
      } else {
        break;
      }
    }
  }

  void skip_comment() {
    const auto close = text_.find("*/", position_ + 2);
    if (close == std::string_view::npos && is_strict()) fail("a comment that does not end");
    const std::size_t end = close == std::string_view::npos ? text_.size() : close + 2;
    const bool at_line_start = line_start_;
    while (position_ < end) advance();
    line_start_ = at_line_start;
  }

  void skip_directive() {
    const std::size_t start = position_;
    const auto end = std::min(text_.find('\n', start), text_.size());
    const auto directive = text_.substr(start, end - start);
    // The preprocessor indents a '#' that a macro made; the compiler would take it for a directive.
    const bool is_made = start != 0 && text_[start - 1] != '\n';
    const bool is_marker = directive.starts_with("# ") && directive.size() > 2 && is_digit(directive[2]);
    const auto refusal = is_marker ? std::nullopt : refused_directive(directive);
    if (is_made) fail("a directive that a macro makes is not supported");
    if (refusal) fail(*refusal);
    position_ = end;
    std::size_t cursor = 1;
    const auto skip_blanks = [&] {
      while (cursor < directive.size() && directive[cursor] == ' ') ++cursor;
    };
    skip_blanks();
    std::uint32_t line = 0;
    const auto* begin = directive.data() + cursor;
    const auto parsed = std::from_chars(begin, directive.data() + directive.size(), line);
    if (parsed.ec != std::errc() || parsed.ptr == begin) return;  // a pragma, not a line marker
    cursor = static_cast<std::size_t>(parsed.ptr - directive.data());
    skip_blanks();
    if (cursor < directive.size() && directive[cursor] == '"') {
      const auto close = directive.rfind('"');
      const std::string name = printable(directive.substr(cursor + 1, close - cursor - 1));
      const auto [found, is_new] = file_numbers_.emplace(name, static_cast<std::uint32_t>(stream_.files.size()));
      file_ = found->second;
      if (is_new) stream_.files.push_back(name);
    }
    line_ = line - 1;  // the line break that ends the marker is counted too
  }

  void skip_written_directive() {
    Directive directive{.first = position_, .last = position_};
    do directive.last = std::min(text_.find('\n', directive.last + 1), text_.size());
    while (directive.last < text_.size() && is_joined(directive.last));
    directive.body = macro_body(directive);
    stream_.directives.push_back(directive);
    while (position_ < directive.last) advance();
  }

  // Whether a backslash joins the next line to this one.
  bool is_joined(std::size_t line_break) const {
    const std::size_t before = line_break - (text_[line_break - 1] == '\r' && line_break >= 2 ? 2 : 1);
    return text_[before] == '\\';
  }

  // The start of the body of `#define NAME body` or `#define NAME(arguments) body`.
  std::size_t macro_body(const Directive& directive) const {
    constexpr std::string_view kDefine = "define";
    const auto skip_blanks = [&](std::size_t from) {
      while (from < directive.last && is_blank(text_[from])) ++from;
      return from;
    };
    std::size_t cursor = skip_blanks(directive.first + 1);
    if (!text_.substr(cursor).starts_with(kDefine)) return directive.last;
    cursor = skip_blanks(cursor + kDefine.size());
    while (cursor < directive.last && continues_identifier(text_[cursor])) ++cursor;
    if (cursor == directive.last || text_[cursor] != '(') return cursor;
    const std::size_t close = text_.find(')', cursor);
    return close < directive.last ? close + 1 : directive.last;
  }

  void scan(Token& token) {
    line_start_ = false;
    const char c = at();
    if (c == 'R' && at(1) == '"' && is_strict()) {
      token.kind = TokenKind::string;
      scan_raw_string();
    } else if (starts_identifier(c)) {
      token.kind = TokenKind::identifier;
      const std::size_t start = position_;
      while (continues_identifier(at())) ++position_;
      if (position_ - start > kLongestName && is_strict()) fail(fmt::format("a name of more than {} characters", kLongestName));
    } else if (is_digit(c) || (c == '.' && is_digit(at(1)))) {
      token.kind = TokenKind::number;
      scan_number();
    } else if ((c == '"' || c == '\'') && (is_strict() || ends_on_its_line(c))) {
      token.kind = TokenKind::string;
      scan_quoted(c);
    } else {
      token.kind = TokenKind::punctuation;
      const auto* found = std::find_if(kPunctuation.begin(), kPunctuation.end(),
                                       [&](std::string_view p) { return text_.substr(position_).starts_with(p); });
      position_ += found == kPunctuation.end() ? 1 : found->size();
    }
  }

  void scan_number() {
    for (;;) {
      const char c = at();
      const char previous = text_[position_ == 0 ? 0 : position_ - 1];
      const bool sign_of_exponent = (c == '+' || c == '-') && (previous == 'e' || previous == 'E' || previous == 'p' || previous == 'P');
      const bool separator = c == '\'' && continues_identifier(at(1));
      if (!continues_identifier(c) && c != '.' && !separator && !(sign_of_exponent && is_exponent())) return;
      ++position_;
    }
  }

  // In a hexadecimal integer an `e` before a sign is a digit, not an exponent: 0xe+1.
  bool is_exponent() const {
    std::size_t start = position_;
    while (start > 0 && (continues_identifier(text_[start - 1]) || text_[start - 1] == '.')) --start;
    const bool hexadecimal = text_.substr(start).starts_with("0x") || text_.substr(start).starts_with("0X");
    const char previous = text_[position_ - 1];
    return hexadecimal ? previous == 'p' || previous == 'P' : true;
  }

  bool ends_on_its_line(char quote) const {
    for (std::size_t cursor = position_ + 1; cursor < text_.size() && text_[cursor] != '\n'; ++cursor) {
      if (text_[cursor] == quote) return true;
      if (text_[cursor] == '\\' && cursor + 1 < text_.size() && text_[cursor + 1] != '\n') ++cursor;
    }
    return false;
  }

  void scan_quoted(char quote) {
    ++position_;
    while (at() != quote) {
      // The preprocessor has already joined lines, so a literal that continues after a backslash does not end.
      if (position_ >= text_.size() || at() == '\n' || (at() == '\\' && at(1) == '\n')) fail("a string or character that does not end");
      position_ += at() == '\\' ? 2 : 1;
    }
    ++position_;
  }

  void scan_raw_string() {
    const auto open = text_.find('(', position_);
    if (open == std::string_view::npos || open - position_ - 2 > kLongestDelimiter) fail("a raw string that does not begin");
    const std::string close = ")" + std::string(text_.substr(position_ + 2, open - position_ - 2)) + "\"";
    const auto end = text_.find(close, open);
    if (end == std::string_view::npos) fail("a raw string that does not end");
    // Code that removes or moves a token keeps the source's lines, so a token must lie on one line.
    if (text_.substr(position_, end - position_).find('\n') != std::string_view::npos)
      fail("a raw string of several lines is not supported");
    position_ = end + close.size();
  }

  Form form_;
  TokenStream stream_;
  std::map<std::string, std::uint32_t> file_numbers_;  // indices into stream_.files
  std::string_view text_;
  std::size_t position_ = 0;
  std::uint32_t file_ = 0;
  std::uint32_t line_ = 1;
  bool line_start_ = true;
};

}  // namespace

bool has_quoted_include(std::string source) {
  const TokenStream stream = tokenize(std::move(source), {}, Form::compared);  // the last token is of kind `end`
  for (std::size_t i = 0; i + 2 < stream.tokens.size(); ++i) {
    const Token& target = stream.tokens[i + 2];
    if (stream.tokens[i].is("#") && stream.tokens[i + 1].is("include") && target.kind == TokenKind::string && target.text.starts_with('"'))
      return true;
  }
  return false;
}

std::string printable(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return result;
}

TokenStream tokenize(std::string source, std::string file, Form form) { return Lexer(std::move(source), std::move(file), form).run(); }

namespace {

// Removes the directives for which `is_left_out` returns true, given the text after the `#`. Keeps the number of lines.
template <typename Predicate>
std::string without(std::string_view leading, Predicate is_left_out) {
  std::string result;
  while (!leading.empty()) {
    const std::size_t end = std::min(leading.find('\n'), leading.size() - 1) + 1;
    const std::string_view line = leading.substr(0, end);
    const std::size_t sign = line.find_first_not_of(" \t");
    const bool is_directive = sign != std::string_view::npos && line[sign] == '#';
    const std::size_t word = is_directive ? line.find_first_not_of(" \t", sign + 1) : std::string_view::npos;
    const bool goes = word != std::string_view::npos && is_left_out(line.substr(word));
    result += goes ? line.substr(line.size() - (line.ends_with('\n') ? 1 : 0)) : line;
    leading.remove_prefix(end);
  }
  return result;
}

// The text after `pragma`; empty for another directive.
std::string_view pragma(std::string_view directive) {
  if (!directive.starts_with("pragma")) return {};
  return directive.substr(std::min(directive.find_first_not_of(" \t", std::string_view("pragma").size()), directive.size()));
}

// Whether a pragma has no meaning here. `pack` decides the layout of structs, so it always stays.
bool is_meaningless(std::string_view directive) {
  const auto words = pragma(directive);
  return !words.empty() && !words.starts_with("pack");
}

// Whether a pragma is useless. Hints about loops may stay; other pragmas mean nothing here, and clang accepts them in fewer
// places than Metal.
bool is_useless(std::string_view directive) {
  const auto words = pragma(directive);
  for (const std::string_view advice : {"unroll", "nounroll", "clang loop", "GCC unroll"}) {
    if (words.starts_with(advice)) return false;
  }
  return is_meaningless(directive);
}

}  // namespace

std::string without_directives(std::string_view leading, bool pragmas_too) {
  if (leading.find('#') == std::string_view::npos) return std::string(leading);
  return without(leading, [pragmas_too](std::string_view directive) {
    return pragma(directive).empty() || (pragmas_too ? is_meaningless(directive) : is_useless(directive));
  });
}

std::string write(const TokenStream& stream) {
  std::string result;
  for (const auto& token : stream.tokens) {
    result += token.before;
    result += token.leading.find('#') == std::string_view::npos ? std::string(token.leading)
                                                                : without(token.leading, token.drops_pragmas ? is_meaningless : is_useless);
    result += token.replacement ? std::string_view(*token.replacement) : token.text;
    result += token.after;
  }
  return result;
}

int binary_precedence(std::string_view op) {
  constexpr std::array<std::pair<std::string_view, int>, 18> kOperators = {{{"||", 1},
                                                                            {"&&", 2},
                                                                            {"|", 3},
                                                                            {"^", 4},
                                                                            {"&", 5},
                                                                            {"==", 6},
                                                                            {"!=", 6},
                                                                            {"<=", 7},
                                                                            {">=", 7},
                                                                            {"<", 7},
                                                                            {">", 7},
                                                                            {"<<", 8},
                                                                            {">>", 8},
                                                                            {"+", 9},
                                                                            {"-", 9},
                                                                            {"*", 10},
                                                                            {"/", 10},
                                                                            {"%", 10}}};
  const auto* found = std::ranges::find(kOperators, op, &std::pair<std::string_view, int>::first);
  return found == kOperators.end() ? 0 : found->second;
}

}  // namespace assay::metal::translate
