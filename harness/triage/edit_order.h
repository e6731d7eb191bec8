// Which small edits are tried to repair a kernel, and in which order.
#pragma once

#include <vector>

#include "harness/mutate/operators.h"
#include "harness/mutate/source.h"
#include "harness/triage/suspects.h"
#include "kernels/variant.h"

namespace assay::harness {

// The most likely first: on suspect lines those that undo mistakes of the class, and those that use what the class is about and the source
// ignores. Behind an edit comes the same at all places that look alike.
[[nodiscard]] std::vector<Edit> edits_to_try(const kernels::Variant& variant, const Source& source, const EditSearch& search);

}  // namespace assay::harness
