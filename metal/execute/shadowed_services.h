// The runtime's functions for kernels that carry shadows.
#pragma once

#include <array>

#include "metal/execute/collectives.h"

namespace assay::metal::execute {

// `services` with those exchanged that move numbers.
std::array<Service, abi::kServiceCount> shadowed(std::array<Service, abi::kServiceCount> services);

// perform() for values and shadows.
void perform_shadowed(SimdGroup& group, LaneMask participants);

}  // namespace assay::metal::execute
