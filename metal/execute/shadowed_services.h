// The runtime's functions for kernels that carry shadows.
#pragma once

#include "metal/execute/services.h"

namespace assay::metal::execute {

// `services`, of which those that move numbers move the shadows too.
Services shadowed(Services services);

}  // namespace assay::metal::execute
