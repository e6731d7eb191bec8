// Atomic operations of the lanes of a SIMD-group.
#pragma once

#include "metal/execute/lanes.h"

namespace assay::metal::execute {

// One lane after the other, ascending: one of the orders that the hardware may choose, and always the same.
void perform_atomics(SimdGroup& group, LaneMask participants);

}  // namespace assay::metal::execute
