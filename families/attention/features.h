// What cases of family `attention` may have. Internal to families/attention.
#pragma once

#include <span>

#include "families/feature.h"

namespace assay::families::attention {

[[nodiscard]] std::span<const Feature> features();

}  // namespace assay::families::attention
