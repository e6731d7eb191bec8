// Escapes text for Markdown.
#include "reports/markdown_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "reports/clean_text.h"

namespace assay::reports {
namespace {

constexpr std::size_t kLongestText = 400;  // of one reason or note

// GitHub treats underscores inside of a word as text, elsewhere as emphasis.
bool is_inside_word(std::string_view text, std::size_t underscore) {
  const std::size_t before = text.find_last_not_of('_', underscore);
  const std::size_t behind = text.find_first_not_of('_', underscore);
  const auto is_word = [&](std::size_t place) {
    return place != std::string_view::npos && std::isalnum(static_cast<unsigned char>(text[place])) != 0;
  };
  return is_word(before) && is_word(behind);
}

}  // namespace

std::string short_line(std::string_view text, std::size_t length) {
  std::string line = clean_text(text);
  std::ranges::replace(line, '\n', ' ');
  if (line.size() <= length) return line;
  while ((static_cast<unsigned char>(line[length]) & 0xC0) == 0x80) --length;
  return line.substr(0, length) + " ...";
}

// Uses entities, because backslashes do not work inside of words. GitHub still links @name and #12 unless a comment separates the
// characters.
std::string prose(std::string_view text) {
  constexpr std::string_view kMarkup = "&<>*`[]|\\~";  // parentheses and "!" mean something beside brackets alone
  const std::string line = short_line(text, kLongestText);
  std::string result;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (kMarkup.find(c) != std::string_view::npos || (c == '_' && !is_inside_word(line, i))) {
      result += fmt::format("&#{};", static_cast<int>(c));
    } else {
      result += c;
      if (c == '@' || c == '#') result += "<!-- -->";
    }
  }
  return result;
}

// The fence is longer than any row of backticks in the text, so the text cannot end it.
std::string code_block(std::string_view text, std::string_view language) {
  std::string code = clean_text(text);
  if (code.ends_with('\n')) code.pop_back();
  std::size_t longest = 0, row = 0;
  for (const char c : code) {
    row = c == '`' ? row + 1 : 0;
    longest = std::max(longest, row);
  }
  const std::string fence(std::max<std::size_t>(longest + 1, 3), '`');
  return fmt::format("{}{}\n{}\n{}\n", fence, language, code, fence);
}

}  // namespace assay::reports
