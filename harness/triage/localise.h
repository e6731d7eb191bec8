// Describes in sentences which parts of an output are wrong.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "harness/triage/laboratory.h"

namespace assay::harness {

// Ascending numbers as "3, 5..7, 9".
[[nodiscard]] std::string ranges_text(const std::set<std::size_t>& numbers);

// One sentence each on how many elements are wrong and how, and on rows (batches, heads, queries), blocks of 256, coordinates and
// lanes, if they narrow the fault down.
[[nodiscard]] std::vector<std::string> localise(const Observation& observation);

// Whether half of the wrong elements are wrong by more than the precision of half and bfloat.
[[nodiscard]] bool is_clearly_wrong(const Observation& observation);

}  // namespace assay::harness
