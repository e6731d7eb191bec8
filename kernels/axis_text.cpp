// Finds the words of axes.
#include "kernels/axis_text.h"

#include <algorithm>

#include "base/text.h"

namespace assay::kernels {

std::string axis_text(const FamilyContract& contract, std::string_view axis, std::int64_t value) {
  for (const NamedValue& named : contract.named_values) {
    if (named.axis == axis && named.value == value) return std::string(named.word);
  }
  const auto known = std::ranges::find(contract.axis_words, axis, &AxisWords::axis);
  const bool has_word = known != contract.axis_words.end() && value >= 0 && static_cast<std::size_t>(value) < known->words.size();
  return has_word ? std::string(known->words[static_cast<std::size_t>(value)]) : std::to_string(value);
}

std::optional<std::int64_t> axis_value(const FamilyContract& contract, std::string_view axis, std::string_view text) {
  for (const NamedValue& named : contract.named_values) {
    if (named.axis == axis && named.word == text) return named.value;
  }
  return base::number_of<std::int64_t>(text);
}

}  // namespace assay::kernels
