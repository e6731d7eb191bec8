// Finds the words of axes.
#include "kernels/axis_text.h"

#include <algorithm>

namespace assay::kernels {

std::string axis_text(const FamilyContract& contract, std::string_view axis, std::int64_t value) {
  const auto known = std::ranges::find(contract.axis_words, axis, &AxisWords::axis);
  const bool has_word = known != contract.axis_words.end() && value >= 0 && static_cast<std::size_t>(value) < known->words.size();
  return has_word ? std::string(known->words[static_cast<std::size_t>(value)]) : std::to_string(value);
}

}  // namespace assay::kernels
