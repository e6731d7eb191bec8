// Compares texts line by line.
#include "reports/unified_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace assay::reports {
namespace {

using Lines = std::vector<std::string_view>;

// Each with its line break, which the last one may lack.
Lines lines_of(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

struct Edit {
  char sign;  // ' ', '-' or '+'
  std::string_view line;
};

// A longest common subsequence of two lists of lines. Quadratic, so what is equal at both ends is left out before.
void add_middle(std::vector<Edit>& edits, std::span<const std::string_view> before, std::span<const std::string_view> after) {
  constexpr std::size_t kMostCells = 4'000'000;
  const std::size_t width = after.size() + 1;
  std::size_t i = 0, j = 0;
  if (before.size() * width <= kMostCells) {
    std::vector<std::uint32_t> common((before.size() + 1) * width);  // of what is left behind lines i and j
    for (std::size_t a = before.size(); a-- > 0;) {
      for (std::size_t b = after.size(); b-- > 0;)
        common[a * width + b] =
            before[a] == after[b] ? common[(a + 1) * width + b + 1] + 1 : std::max(common[(a + 1) * width + b], common[a * width + b + 1]);
    }
    while (i < before.size() && j < after.size()) {
      if (before[i] == after[j]) {
        edits.push_back({' ', before[i]});
        ++i, ++j;
      } else if (common[(i + 1) * width + j] >= common[i * width + j + 1]) {
        edits.push_back({'-', before[i++]});
      } else {
        edits.push_back({'+', after[j++]});
      }
    }
  }
  while (i < before.size()) edits.push_back({'-', before[i++]});
  while (j < after.size()) edits.push_back({'+', after[j++]});
}

std::vector<Edit> edits_between(const Lines& before, const Lines& after) {
  const std::size_t shorter = std::min(before.size(), after.size());
  std::size_t start = 0, end = 0;
  while (start < shorter && before[start] == after[start]) ++start;
  while (end < shorter - start && before[before.size() - 1 - end] == after[after.size() - 1 - end]) ++end;
  std::vector<Edit> edits;
  for (std::size_t i = 0; i < start; ++i) edits.push_back({' ', before[i]});
  add_middle(edits, std::span(before).subspan(start, before.size() - start - end),
             std::span(after).subspan(start, after.size() - start - end));
  for (std::size_t i = before.size() - end; i < before.size(); ++i) edits.push_back({' ', before[i]});
  return edits;
}

std::string line_text(const Edit& edit) {
  std::string text = edit.sign + std::string(edit.line);
  if (!text.ends_with('\n')) text += "\n\\ No newline at end of file\n";
  return text;
}

// "12,3", or "12" for one line. Of no lines, the number is that of the line before.
std::string range_text(std::size_t first, std::size_t count) {
  return count == 1 ? fmt::format("{}", first) : fmt::format("{},{}", count == 0 ? first - 1 : first, count);
}

// A file name may contain anything, a header is one line.
std::string header_name(std::string_view name) {
  std::string clean(name);
  std::ranges::replace_if(clean, [](char c) { return static_cast<unsigned char>(c) < ' '; }, '?');
  return clean;
}

}  // namespace

std::string unified_diff(std::string_view name, std::string_view before, std::string_view after) {
  constexpr std::size_t kContext = 3;
  const Lines old_lines = lines_of(before), new_lines = lines_of(after);
  const std::vector<Edit> edits = edits_between(old_lines, new_lines);
  const auto is_change = [](const Edit& edit) { return edit.sign != ' '; };
  std::string text;
  std::size_t old_line = 1, new_line = 1, done = 0;  // lines up to edit `done`
  for (auto change = std::ranges::find_if(edits, is_change); change != edits.end();) {
    const auto at = static_cast<std::size_t>(change - edits.begin());
    const std::size_t first = at - std::min(at - done, kContext);
    std::size_t last = at + 1;  // behind the last change of the hunk: no gap is longer than its context on both sides
    for (std::size_t i = at; i < std::min(edits.size(), last + 2 * kContext); ++i) {
      if (is_change(edits[i])) last = i + 1;
    }
    const std::size_t end = std::min(edits.size(), last + kContext);
    for (; done < first; ++done) ++old_line, ++new_line;
    std::string body;
    std::size_t of_old = 0, of_new = 0;
    for (std::size_t i = first; i < end; ++i) {
      body += line_text(edits[i]);
      of_old += edits[i].sign != '+';
      of_new += edits[i].sign != '-';
    }
    text += fmt::format("@@ -{} +{} @@\n{}", range_text(old_line, of_old), range_text(new_line, of_new), body);
    old_line += of_old;
    new_line += of_new;
    done = end;
    change = std::find_if(edits.begin() + static_cast<std::ptrdiff_t>(end), edits.end(), is_change);
  }
  if (text.empty()) return text;
  return fmt::format("--- a/{0}\n+++ b/{0}\n{1}", header_name(name), text);
}

}  // namespace assay::reports
