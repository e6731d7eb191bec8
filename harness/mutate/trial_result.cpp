// Puts the result of a trial into words.
#include "harness/mutate/trial_result.h"

#include <array>

#include "harness/findings/fault_text.h"

namespace assay::harness {

// In the order of Fate.
constexpr std::array<std::string_view, 5> kFates = {"killed", "survived", "equivalent", "stillborn", "unjudged"};
static_assert(kFates.size() == static_cast<std::size_t>(Fate::unjudged) + 1);

std::string_view to_string(Fate fate) { return kFates.at(static_cast<std::size_t>(fate)); }

std::string TrialResult::why() const {
  if (faults.empty()) return reason;
  const std::string text = reason_of(*this);
  return text.substr(0, text.find('\n'));
}

}  // namespace assay::harness
