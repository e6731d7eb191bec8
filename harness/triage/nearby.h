// Cases near a failing one, with their outputs.
#pragma once

#include <vector>

#include "harness/triage/laboratory.h"

namespace assay::harness {

// Cases with more work are too expensive to be computed again for every mistake of the table.
inline constexpr double kLargestNearby = 1.5e6;

struct Nearby {
  std::vector<Observation> failing, passing;  // at most 8 and 10
};

// `given` and `minimal` first, then the family's probes of `given`.
[[nodiscard]] Nearby observe_nearby(Laboratory& laboratory, const Case& given, const Case& minimal);

}  // namespace assay::harness
