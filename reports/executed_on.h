// Where the cases of a run were executed.
#pragma once

#include <string>
#include <string_view>

#include "harness/ledger/ledger.h"

namespace assay::reports {

// How the machine of a run begins whose cases were executed elsewhere and judged here.
inline constexpr std::string_view kElsewhere = "elsewhere: ";

// "simulator", or "elsewhere: Apple M2".
[[nodiscard]] inline std::string executed_on(const harness::RunDescription& run) {
  return run.machine.starts_with(kElsewhere) ? run.machine : std::string("simulator");
}
// "executed on the simulator", or "executed elsewhere: Apple M2".
[[nodiscard]] inline std::string executed_text(const harness::RunDescription& run) {
  return run.machine.starts_with(kElsewhere) ? "executed " + run.machine : std::string("executed on the simulator");
}

}  // namespace assay::reports
