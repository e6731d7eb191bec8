// The runtime's functions for kernels that were compiled to be checked.
#pragma once

#include <array>

#include "metal/execute/collectives.h"

namespace assay::metal::execute {

// `services` with those exchanged that go to memory: they have the lane's checker look first.
std::array<Service, abi::kServiceCount> checked(std::array<Service, abi::kServiceCount> services);

}  // namespace assay::metal::execute
