#include "harness/triage/line_alignment.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <string_view>
#include <utility>

namespace assay::harness {
namespace {

// The words and signs of a line: what is left of it without blanks and comments.
using Words = std::vector<std::string>;

class Splitter {
 public:
  Words operator()(std::string_view line) {
    Words words;
    for (std::size_t at = 0; at < line.size();) {
      if (in_comment_) {
        const std::size_t end = line.find("*/", at);
        if (end == std::string_view::npos) return words;
        in_comment_ = false;
        at = end + 2;
      } else if (line.substr(at).starts_with("//")) {
        return words;
      } else if (line.substr(at).starts_with("/*")) {
        in_comment_ = true;
        at += 2;
      } else if (std::isspace(static_cast<unsigned char>(line[at])) != 0) {
        ++at;
      } else {
        std::size_t end = at + 1;
        while (is_part_of_word(line[at]) && end < line.size() && is_part_of_word(line[end])) ++end;
        words.emplace_back(line.substr(at, end - at));
        at = end;
      }
    }
    return words;
  }

 private:
  static bool is_part_of_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; }
  bool in_comment_ = false;
};

struct Line {
  std::uint32_t number;
  Words words;
};

std::vector<Line> lines_with_words(std::span<const std::string> lines) {
  std::vector<Line> result;
  Splitter split;
  for (std::size_t index = 0; index < lines.size(); ++index) {
    if (Words words = split(lines[index]); !words.empty()) result.push_back({static_cast<std::uint32_t>(index + 1), std::move(words)});
  }
  return result;
}

// Pairs (i, j), ascending, that have the largest sum of weights; a weight of 0 or less never pairs.
std::vector<std::pair<std::size_t, std::size_t>> best_pairs(std::size_t rows, std::size_t columns,
                                                            const std::function<float(std::size_t, std::size_t)>& weight) {
  std::vector<float> best((rows + 1) * (columns + 1), 0.0F);
  const auto at = [&](std::size_t i, std::size_t j) -> float& { return best[i * (columns + 1) + j]; };
  for (std::size_t i = rows; i-- > 0;) {
    for (std::size_t j = columns; j-- > 0;) {
      const float paired = weight(i, j);
      at(i, j) = std::max({at(i + 1, j), at(i, j + 1), paired > 0.0F ? paired + at(i + 1, j + 1) : 0.0F});
    }
  }
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t i = 0, j = 0; i < rows && j < columns;) {
    const float paired = weight(i, j);
    if (paired > 0.0F && at(i, j) == paired + at(i + 1, j + 1)) {
      pairs.emplace_back(i++, j++);
    } else if (at(i, j) == at(i + 1, j)) {
      ++i;
    } else {
      ++j;
    }
  }
  return pairs;
}

// What two lines share of their words, in order: 1 for equal ones.
float resemblance(const Words& a, const Words& b) {
  const auto equal = [&](std::size_t i, std::size_t j) { return a[i] == b[j] ? 1.0F : 0.0F; };
  return 2.0F * static_cast<float>(best_pairs(a.size(), b.size(), equal).size()) / static_cast<float>(a.size() + b.size());
}

}  // namespace

LineAlignment align_lines(std::span<const std::string> old_lines, std::span<const std::string> new_lines) {
  const std::vector<Line> before = lines_with_words(old_lines);
  const std::vector<Line> after = lines_with_words(new_lines);
  const auto is_equal = [&](std::size_t i, std::size_t j) { return before[i].words == after[j].words; };

  std::size_t head = 0;
  while (head < std::min(before.size(), after.size()) && is_equal(head, head)) ++head;
  std::size_t tail = 0;
  while (head + tail < std::min(before.size(), after.size()) && is_equal(before.size() - 1 - tail, after.size() - 1 - tail)) ++tail;
  std::vector<std::pair<std::size_t, std::size_t>> same;
  for (std::size_t i = 0; i < head; ++i) same.emplace_back(i, i);
  // A line that says something is worth more than a brace.
  const auto weight = [&](std::size_t i, std::size_t j) {
    return is_equal(head + i, head + j) ? static_cast<float>(std::min<std::size_t>(before[head + i].words.size(), 8)) : 0.0F;
  };
  for (const auto& [i, j] : best_pairs(before.size() - head - tail, after.size() - head - tail, weight))
    same.emplace_back(head + i, head + j);
  for (std::size_t i = tail; i > 0; --i) same.emplace_back(before.size() - i, after.size() - i);
  same.emplace_back(before.size(), after.size());

  LineAlignment alignment;
  std::size_t i = 0;
  std::size_t j = 0;
  for (const auto& [next_i, next_j] : same) {
    if (i != next_i || j != next_j) {
      const auto number = [](const std::vector<Line>& lines, std::size_t index, std::size_t all) {
        return index < lines.size() ? lines[index].number : static_cast<std::uint32_t>(all + 1);
      };
      const auto count = [](const std::vector<Line>& lines, std::size_t first, std::size_t end) {
        return first == end ? 0U : lines[end - 1].number - lines[first].number + 1;
      };
      alignment.hunks.push_back(
          {number(before, i, old_lines.size()), count(before, i, next_i), number(after, j, new_lines.size()), count(after, j, next_j)});
      // A single line that was put in the place of another is what became of it, whatever it looks like.
      const bool is_replaced = next_i - i == 1 && next_j - j == 1;
      constexpr float kLeast = 0.4F;
      const auto resembling = [&, i, j](std::size_t a, std::size_t b) {
        if (is_replaced) return 1.0F;
        const float shared = resemblance(before[i + a].words, after[j + b].words);
        return shared >= kLeast ? shared : 0.0F;
      };
      for (const auto& [a, b] : best_pairs(next_i - i, next_j - j, resembling))
        alignment.pairs.push_back({before[i + a].number, after[j + b].number, false});
    }
    if (next_i < before.size()) alignment.pairs.push_back({before[next_i].number, after[next_j].number, true});
    i = next_i + 1;
    j = next_j + 1;
  }
  return alignment;
}

}  // namespace assay::harness
