// Outputs that hold the right numbers in the wrong places.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "harness/triage/laboratory.h"

namespace assay::harness {

// What was exchanged: "rows of heads and queries are exchanged: row 1 holds what belongs to row 4". Nothing if some failing case has a
// wrong element that is not another one's, or if only one row is wrong.
[[nodiscard]] std::optional<std::string> find_permutation(std::span<const Observation> failing);

}  // namespace assay::harness
