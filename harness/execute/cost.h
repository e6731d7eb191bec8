// What executing a case costs, counted by the simulator under the policy `checked`, beside what any kernel needs for it.
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
  metal::Cost total;                       // of them all: bytes that several dispatches touch are distinct in each
  families::Minimum minimum;
};

// Executes the case's dispatches once, in this process, and asks neither oracle nor judge. Of `options` the first schedule and the threads
// count, and no figure depends on them. Throws as encode_case() and minimum_of().
[[nodiscard]] CaseCost cost_of(const PreparedVariant& prepared, const Case& about, const ExecutionOptions& options);

}  // namespace assay::harness
