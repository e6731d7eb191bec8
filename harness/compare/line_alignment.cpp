// Aligns the lines of two sources by common subsequences.
#include "harness/compare/line_alignment.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "harness/compare/source_words.h"

namespace assay::harness {
namespace {

// The words and signs of a line, without blanks and comments.
using LineWords = std::vector<std::string>;

struct Line {
  std::uint32_t number;
  LineWords words;
};

std::vector<Line> lines_with_words(std::span<const std::string> lines) {
  std::string source;
  for (const std::string& line : lines) source += line + "\n";
  std::vector<Line> result;
  for (const SourceWord& word : source_words(source)) {
    if (result.empty() || result.back().number != word.line) result.push_back({word.line, {}});
    // Signs are split into characters, so that a longer sign resembles a shorter one.
    const std::size_t piece = word.is_sign ? 1 : word.text.size();
    for (std::size_t at = 0; at < word.text.size(); at += piece) result.back().words.emplace_back(word.text.substr(at, piece));
  }
  return result;
}

// The ascending pairs (i, j) with the largest sum of weights. Pairs with a weight of 0 or less are never included.
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

// The share of words that two lines have in common, in order: 1 for equal lines.
float resemblance(const LineWords& a, const LineWords& b) {
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
  // A line with many words weighs more than a brace.
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
      // A single line that replaces another one is its counterpart, even if they do not resemble each other.
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
