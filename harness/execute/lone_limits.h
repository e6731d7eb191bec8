// What a lone kernel file was made for. A described variant says so in its [limits].
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/prepare/workbench.h"
#include "kernels/variant.h"

namespace assay::harness {

struct FoundLimit {
  kernels::AxisLimit limit;
  std::string reason;  // why one of the other values is none
};

// Limits of the axes of which `lone` is not made for every value that its own limits (--limit) admit, found by binding its functions for
// the cases of smoke; empty if it is made for none of these, so that its cases tell why. Compiles the file; throws what Workbench does, and
// kernels::VariantError for a codebook whose width neither the kernel is told nor its limits tell.
[[nodiscard]] std::vector<FoundLimit> limits_of_lone(const kernels::Variant& lone, std::span<const kernels::Variant> catalogue,
                                                     const WorkbenchOptions& options);

}  // namespace assay::harness
