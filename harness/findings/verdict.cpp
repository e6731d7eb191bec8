// Names the statuses of verdicts.
#include "harness/findings/verdict.h"

namespace assay::harness {

std::string_view to_string(Status status) {
  switch (status) {
    case Status::passed:
      return "passed";
    case Status::failed:
      return "failed";
    case Status::hazard:
      return "hazard";
    case Status::crashed:
      return "crashed";
    case Status::timeout:
      return "timeout";
    case Status::rejected:
      return "rejected";
    case Status::mistrusted:
      return "mistrusted";
    case Status::known:
      return "known";
    case Status::skipped:
      return "skipped";
  }
  return "?";
}

}  // namespace assay::harness
