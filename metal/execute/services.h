// The functions of the runtime that compiled kernels call.
#pragma once

#include <array>

#include "metal/lane_abi.h"

namespace assay::metal::execute {

using Service = void (*)();
using Services = std::array<Service, abi::kServiceCount>;  // by abi::Service

// Connects a loaded kernel to the functions for its policy. Nothing else writes to the module's table.
void connect(const abi::Module& module);

}  // namespace assay::metal::execute
