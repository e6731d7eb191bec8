// Measures the cost of a case under the policy `checked`.
#include "harness/execute/cost.h"
#include "metal/devices/simulator.h"

namespace assay::harness {

CaseCost cost_of(const PreparedVariant& prepared, const Case& about, const ExecutionOptions& options) {
  metal::Simulator simulator(prepared.libraries, {.threads = options.threads,
                                                  .schedule = options.schedules.empty() ? metal::Schedule{} : options.schedules.front(),
                                                  .policy = metal::Policy::checked});
  encode_case(prepared, about, options.shelf, simulator);
  CaseCost cost{format_case(about), simulator.cost(), {}, minimum_of(about, options.shelf)};
  for (const metal::KernelCost& kernel : cost.kernels) cost.total += kernel.total;
  return cost;
}

}  // namespace assay::harness
