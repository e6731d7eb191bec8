// Puts the result of a trial into words.
#include "harness/mutate/trial_result.h"

#include "harness/findings/fault_text.h"

namespace assay::harness {

std::string_view to_string(Fate fate) {
  switch (fate) {
    case Fate::killed:
      return "killed";
    case Fate::survived:
      return "survived";
    case Fate::equivalent:
      return "equivalent";
    case Fate::stillborn:
      return "stillborn";
    case Fate::unjudged:
      return "unjudged";
  }
  return "unknown";
}

std::string_view policy_name(metal::Policy policy) {
  switch (policy) {
    case metal::Policy::native:
      return "native";
    case metal::Policy::checked:
      return "checked";
    case metal::Policy::shadow:
      return "shadow";
  }
  return "unknown";
}

std::string TrialResult::why() const {
  if (faults.empty()) return reason;
  const std::string text = reason_of(*this);
  return text.substr(0, text.find('\n'));
}

}  // namespace assay::harness
