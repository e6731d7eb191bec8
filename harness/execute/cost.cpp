// Measures the cost of a case under the policy `checked`.
#include "harness/execute/cost.h"
#include "harness/execute/kernel_process.h"

namespace assay::harness {

CaseCost cost_of(const PreparedVariant& prepared, const Case& test_case, const ExecutionOptions& options) {
  const metal::SimulatorOptions counting = {.threads = options.threads,
                                            .schedule = options.schedules.empty() ? metal::Schedule{} : options.schedules.front(),
                                            .policy = metal::Policy::checked};
  CaseCost cost{
      format_case(test_case), run_case(prepared, test_case, options.shelf, counting).cost, {}, minimum_of(test_case, options.shelf)};
  for (const metal::KernelCost& kernel : cost.kernels) cost.total += kernel.total;
  return cost;
}

}  // namespace assay::harness
