// What a description may excuse: under --strict only what a description of the base branch says as well.
#pragma once

#include <string>
#include <vector>

#include "kernels/variant.h"

namespace assay::kernels {

// Removes everything in the description of `variant` that excuses failures, unless `base`, a description of the same variant, says the
// same; nullptr: there is none, so nothing is excused. Known findings are removed, weaker storage, limits and superseded_by become those of
// the base, and claims of the base are added. Returns a sentence for each thing that does not count. Settings that choose other code
// (constants, fields, macros, and, if there is a base, also sources, include folders and names) must be those of the base; throws
// VariantError if they are not.
[[nodiscard]] std::vector<std::string> restrict_to_base(Variant& variant, const Variant* base);

}  // namespace assay::kernels
