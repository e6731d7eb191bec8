// The axes of family `attention`. Internal to families/attention.
#pragma once

#include <vector>

#include "families/family.h"

namespace assay::families::attention {

// In the order of AxisIndex.
[[nodiscard]] const std::vector<Axis>& axes();

}  // namespace assay::families::attention
