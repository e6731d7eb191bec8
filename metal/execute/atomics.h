// Atomic operations of the lanes of a SIMD-group.
#pragma once

#include "metal/execute/lanes.h"

namespace assay::metal::execute {

// Lanes take effect one after the other, in ascending order. The hardware may choose this order too, and it is always the same.
void perform_atomics(SimdGroup& group, LaneMask participants);

}  // namespace assay::metal::execute
