// What a case costs as text for people and as JSON for a CI that holds one iteration of a kernel against another.
#pragma once

#include <string>
#include <string_view>

#include "harness/run/cost.h"

namespace assay::reports {

inline constexpr int kCostVersion = 1;

// Every line with its source, which is read from the files that the counters name, and the whole against the minimum.
[[nodiscard]] std::string cost_text(const harness::CaseCost& cost);

// The same, in keys of a fixed order; equal to the byte for equal figures, on any machine. Files are named by their last folder and name.
// `verdict` is the case's. A ratio to nothing is null.
[[nodiscard]] std::string cost_json(const harness::CaseCost& cost, std::string_view verdict);

}  // namespace assay::reports
