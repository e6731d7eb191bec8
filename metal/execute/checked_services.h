// The runtime's functions for kernels that were compiled to be checked.
#pragma once

#include "metal/execute/services.h"

namespace assay::metal::execute {

// `services`, of which those that access memory let the lane's checker look first.
Services checked(Services services);

}  // namespace assay::metal::execute
