// The runtime's functions for kernels that were compiled to be checked.
#pragma once

#include "metal/execute/services.h"

namespace assay::metal::execute {

// `services`, with the functions that access memory replaced by ones that ask the lane's checker first.
Services checked(Services services);

}  // namespace assay::metal::execute
