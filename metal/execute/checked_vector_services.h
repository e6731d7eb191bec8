// Replacements for the functions that vector code calls, in kernels that were compiled to be checked.
#pragma once

#include "metal/execute/services.h"

namespace assay::metal::execute {

// Replaces those of vector_services.h.
void add_checked_vector_services(Services& functions);

}  // namespace assay::metal::execute
