// Where triage looks first in a kernel without a right source: what landmarks say about several failing cases, together.
#pragma once

#include <span>
#include <vector>

#include "harness/triage/laboratory.h"
#include "harness/triage/slices.h"
#include "harness/triage/triage.h"

namespace assay::harness {

struct Focus {
  std::vector<Suspect> suspects;  // of focus_on(): at most one, the line that parts right from wrong; empty: nothing is known
  LineSuspicion suspicion;        // of all lines
  bool has_factor = false;        // a usual factor explains all wrong values of the suspect
};

// Matches the landmarks of a few of these failing cases, in their order.
[[nodiscard]] Focus focus_on(Laboratory& laboratory, std::span<const Observation> failing);

}  // namespace assay::harness
