// The explanation of one case's error as text and as JSON.
#pragma once

#include <string>

#include "harness/execute/explain.h"

namespace assay::reports {

// The conclusion in one or two sentences: whether the kernel computes the wrong thing, or rounds too much.
[[nodiscard]] std::string conclusion_of(const harness::Explanation& explanation);

// The conclusion, the split of the worst elements, the lines by their contribution, and the place of the first large error.
[[nodiscard]] std::string explanation_text(const harness::Explanation& explanation);

// The same as JSON, with the verdict's status and reason. Values that are not finite are null.
[[nodiscard]] std::string explanation_json(const harness::Explanation& explanation);

// For example "rounding up to 0.31 of the bound at index 7, logic up to 2.1e-06 at index 12; 512 discrete elements have no split".
[[nodiscard]] std::string split_text(const harness::ErrorSplit& split);

}  // namespace assay::reports
