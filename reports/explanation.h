// The explanation of one case's error as text and as JSON.
#pragma once

#include <string>

#include "harness/run/explain.h"

namespace assay::reports {

// What an explanation comes to, in a sentence or two: whether the kernel computes something else than it should, or rounds too much.
[[nodiscard]] std::string conclusion_of(const harness::Explanation& explanation);

// The conclusion, the split of the worst elements, the lines by what they contribute, and where the first large error is born.
[[nodiscard]] std::string explanation_text(const harness::Explanation& explanation);

// The same for machines, with the verdict's status and reason. What is not finite is null.
[[nodiscard]] std::string explanation_json(const harness::Explanation& explanation);

// "rounding up to 0.31 of the bound at index 7, logic up to 2.1e-06 at index 12; 512 discrete elements have no split".
[[nodiscard]] std::string split_text(const harness::ErrorSplit& split);

}  // namespace assay::reports
