// The limits of a lone kernel file. A described variant states them in its [limits].
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/prepare/workbench.h"
#include "kernels/variant.h"

namespace assay::harness {

struct FoundLimit {
  kernels::AxisLimit limit;
  std::string reason;  // why one of the other values is not supported
};

// Limits of the axes on which `lone` supports only some of the values that its own limits (--limit) admit. Found by binding its
// functions for the cases of smoke. Empty if it supports none of these cases, so that running them shows the reason. Compiles the
// file. Throws what Workbench throws, and kernels::VariantError if neither the kernel receives the width of its codebook nor its
// limits give it.
[[nodiscard]] std::vector<FoundLimit> limits_of_lone(const kernels::Variant& lone, std::span<const kernels::Variant> catalogue,
                                                     const WorkbenchOptions& options);

}  // namespace assay::harness
