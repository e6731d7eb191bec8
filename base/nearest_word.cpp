// The edit distance of words, and the nearest of several words.
#include "base/nearest_word.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

namespace assay::base {
namespace {

// No name of ours is longer. A hostile file may have a key of a megabyte, and the distance takes quadratic time.
constexpr std::size_t kLongestWord = 200;
// A shorter word is the beginning of too many others.
constexpr std::size_t kShortestBeginning = 3;

}  // namespace

std::size_t letters_apart(std::string_view from, std::string_view to) {
  std::vector<std::size_t> before, above(to.size() + 1), row(to.size() + 1);
  std::iota(above.begin(), above.end(), std::size_t{0});
  for (std::size_t i = 1; i <= from.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= to.size(); ++j) {
      row[j] = std::min({above[j - 1] + (from[i - 1] == to[j - 1] ? 0U : 1U), above[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = std::exchange(above, row);
  }
  return above.back();
}

std::string_view nearest_word(std::string_view word, const std::vector<std::string_view>& words) {
  if (word.empty() || word.size() > kLongestWord) return {};
  std::string_view nearest;
  std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string_view candidate : words) {
    const std::size_t longer = std::max(word.size(), candidate.size());
    if (longer - std::min(word.size(), candidate.size()) >= least) continue;
    // Words that share no letter are not alike, however short they are.
    if (const std::size_t distance = letters_apart(word, candidate); distance < least && distance < longer) {
      least = distance;
      nearest = candidate;
    }
  }
  if (!nearest.empty() || word.size() < kShortestBeginning) return nearest;
  const auto begun = std::ranges::find_if(words, [&](std::string_view candidate) { return candidate.starts_with(word); });
  return begun == words.end() ? std::string_view() : *begun;
}

}  // namespace assay::base
