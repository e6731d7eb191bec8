// Finds the factor by which all values of a landmark are wrong. Internal to harness/triage.
#pragma once

#include <optional>
#include <vector>

#include "harness/triage/sightings.h"

namespace assay::harness {

// The factor, not 1, with which the sorted numbers hold the first value of each of these elements. nullopt if there is none, if there are
// too few elements to tell it from chance, or if there are too many numbers.
[[nodiscard]] std::optional<double> common_factor(const std::vector<double>& numbers, const ElementList& elements, double tolerance);

}  // namespace assay::harness
