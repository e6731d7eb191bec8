// Finds the word that was probably meant by a misspelt one, for messages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay::base {

// The number of letters to insert, omit or replace, and of neighbours to swap, to get from one word to the other.
[[nodiscard]] std::size_t letters_apart(std::string_view from, std::string_view to);

// The word of `words` that is nearest to `word`; empty if none is near: more than a third of the letters differ, and it does not begin with
// `word`. Of equally near ones, the first.
[[nodiscard]] std::string_view nearest_word(std::string_view word, const std::vector<std::string_view>& words);

// " (did you mean 'gauss'?)", to be put behind the quoted word; empty if no word is near. `words`: strings or views of them.
template <typename Words>
[[nodiscard]] std::string did_you_mean(std::string_view word, const Words& words) {
  const std::string_view nearest = nearest_word(word, std::vector<std::string_view>(words.begin(), words.end()));
  return nearest.empty() ? std::string() : " (did you mean '" + std::string(nearest) + "'?)";
}

}  // namespace assay::base
