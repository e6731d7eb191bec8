// Where the cases of a run were executed.
#pragma once

#include <string>
#include <string_view>

#include "harness/ledger/executed_on.h"
#include "harness/ledger/ledger.h"

namespace assay::reports {

// How the machine of a run begins whose cases were executed elsewhere and judged here.
inline constexpr std::string_view kElsewhere = "elsewhere: ";
// And how it ends if the bundle asked for fast mathematics.
inline constexpr std::string_view kElsewhereFast = ", fast math";

// "simulator", "cuda:1", or "elsewhere: Apple M2".
[[nodiscard]] inline std::string executed_on(const harness::RunDescription& run) {
  return run.machine.starts_with(kElsewhere) ? run.machine : harness::device_of(run.replay_options);
}
// The same within a sentence: "executed on the simulator", "executed on the simulator, policy checked", "executed elsewhere: Apple M2".
[[nodiscard]] inline std::string executed_text(const harness::RunDescription& run) {
  if (run.machine.starts_with(kElsewhere)) return "executed " + run.machine;
  const std::string& policy = run.environment.policy;
  return harness::executed_on(run.replay_options) + (policy.empty() || policy == "native" ? "" : ", policy " + policy);
}
// Whether the kernels were compiled for fast mathematics.
[[nodiscard]] inline bool is_fast(const harness::RunDescription& run) {
  return run.machine.starts_with(kElsewhere) ? run.machine.ends_with(kElsewhereFast) : harness::is_fast(run.replay_options);
}

}  // namespace assay::reports
