// Cases near a failing one, with their outputs.
#pragma once

#include <span>
#include <vector>

#include "harness/triage/laboratory.h"

namespace assay::harness {

// Cases with more work are too expensive to be computed again for every mistake of the table.
inline constexpr double kLargestNearby = 1.5e6;

struct Nearby {
  std::vector<Observation> failing, passing;  // at most 8 and 10
  std::vector<Observation> elsewhere;         // small cases of the run that pass, of all kinds: at most 12

  // What a mistake must not change: `passing` and `elsewhere`.
  [[nodiscard]] std::vector<Observation> right() const;
};

// `given` and `minimal` first, then the family's probes of `given`. `passed`: all cases of the run that pass.
[[nodiscard]] Nearby observe_nearby(Laboratory& laboratory, const Case& given, const Case& minimal, std::span<const Case> passed);

}  // namespace assay::harness
