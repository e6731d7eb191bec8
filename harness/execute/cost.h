// The cost of executing a case, counted by the simulator under the policy `checked`, and the minimum that any kernel needs.
#pragma once

#include <string>
#include <vector>

#include "harness/cases/minimum.h"
#include "harness/execute/execute.h"
#include "harness/prepare/workbench.h"
#include "metal/cost.h"
#include "metal/source_files.h"  // for those who show the lines of kernels

namespace assay::harness {

struct CaseCost {
  std::string name;                        // of the case
  std::vector<metal::KernelCost> kernels;  // in the order of their first dispatches
  metal::Cost total;                       // of all kernels; a byte that several dispatches access counts as distinct in each of them
  families::Minimum minimum;
};

// Executes the case's dispatches once, without oracle and judge. Of `options`, only the first schedule and the number of threads are used,
// and no figure depends on them. Throws what run_case() and minimum_of() throw.
[[nodiscard]] CaseCost cost_of(const PreparedVariant& prepared, const Case& test_case, const ExecutionOptions& options);

}  // namespace assay::harness
