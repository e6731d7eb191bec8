// Shuffles and broadcasts between the lanes of a SIMD-group.
#pragma once

#include "metal/execute/lanes.h"

namespace assay::metal::execute {

// Values are where the lanes' requests say; `first` is the request of the first participant.
void perform_shuffle(SimdGroup& group, LaneMask participants, const Request& first);

// The same for four bytes, whose values stay in the group; each lane's argument is its request's first word.
void perform_shuffle_word(SimdGroup& group, LaneMask participants, std::uint32_t operation);

}  // namespace assay::metal::execute
