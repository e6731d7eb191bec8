// The runtime's functions for kernels that carry shadows.
#pragma once

#include "metal/execute/services.h"

namespace assay::metal::execute {

// `services`, with the functions that move numbers replaced by ones that also move the shadows.
Services shadowed(Services services);

}  // namespace assay::metal::execute
