// The cost of a case as text for people and as JSON for CI jobs that compare iterations.
#pragma once

#include <string>
#include <string_view>

#include "harness/execute/cost.h"

namespace assay::reports {

inline constexpr int kCostVersion = 1;

// Lists every source line, read from the files that the counters name, and compares the total with the minimum.
[[nodiscard]] std::string cost_text(const harness::CaseCost& cost);

// The same as JSON with a fixed key order: equal figures give equal bytes on any machine. Files are named by their last folder and name.
// `verdict` is that of the case. A ratio to 0 is null.
[[nodiscard]] std::string cost_json(const harness::CaseCost& cost, std::string_view verdict);

}  // namespace assay::reports
