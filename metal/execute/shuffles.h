// Shuffles and broadcasts between the lanes of a SIMD-group.
#pragma once

#include "metal/execute/lanes.h"

namespace assay::metal::execute {

// Values are at the pointers in the lanes' requests; `first` is the request of the first participant.
void perform_shuffle(SimdGroup& group, LaneMask participants, const Request& first);

// The same for values of four bytes, which stay in the group. The first word of each lane's request is its argument.
void perform_shuffle_word(SimdGroup& group, LaneMask participants, std::uint32_t operation);

}  // namespace assay::metal::execute
