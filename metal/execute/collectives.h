// Operations that lanes of a SIMD-group do together at a meeting point, computed once for all of them.
#pragma once

#include "metal/execute/lanes.h"

namespace assay::metal::execute {

// Performs the requests of the lanes in `participants`, which all wait at the same site. It commits stores, evaluates the SIMD-group
// function, matrix product or atomics, and writes results where the requests say. Not for barriers.
void perform(SimdGroup& group, LaneMask participants);

}  // namespace assay::metal::execute
