// Finds the words of an axis by the names of family and axis.
#include "reports/axis_words.h"

#include <algorithm>
#include <stdexcept>

#include "harness/cases/case.h"

namespace assay::reports {

std::span<const std::string_view> axis_words(std::string_view family, std::string_view axis) {
  try {
    const auto& words = harness::find_family(family).contract.axis_words;
    const auto found = std::ranges::find(words, axis, [](const auto& known) { return known.axis; });
    if (found != words.end()) return found->words;
  } catch (const std::invalid_argument&) {  // a family of another program
  }
  return {};
}

std::string axis_text(std::string_view family, std::string_view axis, std::int64_t value) {
  const std::span<const std::string_view> words = axis_words(family, axis);
  const bool has_word = value >= 0 && static_cast<std::size_t>(value) < words.size();
  return has_word ? std::string(words[static_cast<std::size_t>(value)]) : std::to_string(value);
}

}  // namespace assay::reports
