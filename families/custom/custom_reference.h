// Asks a variant's reference for the expected results of cases, and keeps its answers.
#pragma once

#include <span>
#include <vector>

#include "families/custom/custom_case.h"

namespace assay::families {

// What a reference says of one case: by output, in row-major order. Bounds are empty for outputs whose bound the description has.
struct ReferenceAnswer {
  std::vector<std::vector<double>> expected, bound;
};

// The answers for some cases of one variant, in their order. A command or library is asked only for what is not in the cache. Throws
// fixtures::FileError if the reference fails, ends too late, or answers what cannot be used.
[[nodiscard]] std::vector<ReferenceAnswer> ask_reference(std::span<const CustomCase> cases);

// The same, in portions, and without the answers: later calls find them in the cache.
void ask_reference_ahead(const CustomVariant& of, std::span<const Case> cases);

}  // namespace assay::families
