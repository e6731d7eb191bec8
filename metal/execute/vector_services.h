// The functions of the runtime that vector code calls, once for a whole SIMD-group.
#pragma once

#include "metal/execute/services.h"

namespace assay::metal::execute {

void add_vector_services(Services& functions);

}  // namespace assay::metal::execute
