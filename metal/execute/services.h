// The functions of the runtime that compiled kernels call.
#pragma once

#include <array>

#include "metal/lane_abi.h"

namespace assay::metal::execute {

using Service = void (*)();
using Services = std::array<Service, abi::kServiceCount>;  // by abi::Service

// The functions for kernels that are neither checked nor carry shadows.
Services plain_services();

}  // namespace assay::metal::execute
