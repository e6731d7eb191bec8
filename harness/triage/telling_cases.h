// Chooses the failing cases whose values are compared with landmarks. Internal to harness/triage.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "harness/triage/laboratory.h"
#include "harness/triage/nearby.h"
#include "harness/triage/triage.h"

namespace assay::harness {

// The class that explains all of these cases to the last element; empty if there is none.
[[nodiscard]] std::string_view class_of(std::span<const Observation> failing, const Laboratory& laboratory);

struct Telling {
  std::vector<Observation> alike;   // of the same class, or without one
  std::vector<Observation> others;  // of another class: what they show may be another mistake
};
// What lines of a kernel hold says little if there is only a key or two, or only hidden ones: a failing case of a better size is looked at
// first, unless it shows another mistake.
[[nodiscard]] Telling telling(Laboratory& laboratory, const Finding& finding, const Nearby& nearby, std::span<const Verdict> left);

}  // namespace assay::harness
