// Operations that lanes do together at a meeting point, in kernels that carry shadows.
#pragma once

#include "metal/execute/lanes.h"

namespace assay::metal::execute {

// perform() for values and shadows.
void perform_shadowed(SimdGroup& group, LaneMask participants);

}  // namespace assay::metal::execute
