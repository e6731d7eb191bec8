// Reductions and prefix scans over the lanes of a SIMD-group.
#pragma once

#include "metal/execute/lanes.h"

namespace assay::metal::execute {

// Operands and results are at the pointers in the lanes' requests; `first` is the request of the first participant.
void perform_reduce(SimdGroup& group, LaneMask participants, const Request& first);

// The same for one 32-bit scalar, whose operands and results stay in the group. `code` consists of operation, scalar code and width.
void perform_reduce_word(SimdGroup& group, LaneMask participants, std::uint32_t code);

}  // namespace assay::metal::execute
