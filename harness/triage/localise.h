// Which parts of an output are wrong, in sentences.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "harness/triage/laboratory.h"

namespace assay::harness {

// "3, 5..7, 9" of ascending numbers.
[[nodiscard]] std::string ranges_text(const std::set<std::size_t>& numbers);

// One sentence each on how many elements are wrong and how, on rows (batches, heads, queries), blocks of 256, coordinates and lanes, as far
// as they narrow anything down.
[[nodiscard]] std::vector<std::string> localise(const Observation& observation);

}  // namespace assay::harness
