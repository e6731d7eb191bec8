// Finds where a barrier is missing: tries one at every place between statements, all of them in one compilation (edit_schema.h).
#pragma once

#include <span>

#include "harness/triage/suspects.h"
#include "metal/hazard.h"

namespace assay::harness {

// Whether it is a race that a barrier prevents.
[[nodiscard]] bool needs_barrier(const metal::Hazard& hazard);

// `race`: between simdgroups, on the cases `racing` under the policy `checked`; `given` as in EditSearch. Of several places that help, one
// in a function of an access, else in a kernel, and in the fewest blocks is named. Without suspects if none helps. Partial if some cases
// fail without a race then.
[[nodiscard]] Blame blame_missing_barrier(const Laboratory& laboratory, const metal::Hazard& race, std::span<const Case> racing,
                                          std::span<const Case> given);

}  // namespace assay::harness
