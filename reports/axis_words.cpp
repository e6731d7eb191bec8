// Finds the words of an axis by the names of family and axis.
#include "reports/axis_words.h"

#include <algorithm>

#include "families/registry.h"

namespace assay::reports {

std::span<const std::string_view> axis_words(std::string_view family, std::string_view axis) {
  for (const families::Family& known : families::all_families()) {
    if (known.name() != family) continue;
    const auto found = std::ranges::find(known.contract.axis_words, axis, &kernels::AxisWords::axis);
    if (found != known.contract.axis_words.end()) return found->words;
  }
  return {};
}

std::string axis_text(std::string_view family, std::string_view axis, std::int64_t value) {
  const std::span<const std::string_view> words = axis_words(family, axis);
  const bool has_word = value >= 0 && static_cast<std::size_t>(value) < words.size();
  return has_word ? std::string(words[static_cast<std::size_t>(value)]) : std::to_string(value);
}

}  // namespace assay::reports
