// Quotes and splits words as a shell does.
#include "harness/ledger/shell_line.h"

#include <utility>

namespace assay::harness {

std::string shell_quoted(std::string_view text) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%";
  if (!text.empty() && text.find_first_not_of(plain) == std::string_view::npos) return std::string(text);
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

std::string shell_line(std::span<const std::string> words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + shell_quoted(word);
  return line;
}

std::vector<std::string> words_of_shell_line(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool is_quoted = false;
  bool is_escaped = false;
  bool is_word = false;  // '' is a word too
  for (const char c : line) {
    if (std::exchange(is_escaped, false)) {
      word += c;
    } else if (c == '\\' && !is_quoted) {
      is_escaped = is_word = true;
    } else if (c == '\'') {
      is_quoted = !is_quoted;
      is_word = true;
    } else if (c == ' ' && !is_quoted) {
      if (is_word) words.push_back(std::exchange(word, {}));
      is_word = false;
    } else {
      word += c;
      is_word = true;
    }
  }
  if (is_word) words.push_back(std::move(word));
  return words;
}

}  // namespace assay::harness
