// Connects a loaded kernel to the runtime.
#pragma once

#include "metal/lane_abi.h"

namespace assay::metal::execute {

// Fills the module's table with the functions for its policy. Nothing else writes to that table.
void connect(const abi::Module& module);

}  // namespace assay::metal::execute
