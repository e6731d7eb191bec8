// Carries one case from its fixture to its verdict.
#pragma once

#include "harness/run/verdict.h"
#include "harness/run/workbench.h"
#include "metal/simulator.h"

namespace assay::harness {

// Fixture -> oracle -> buffers -> launch code -> simulator -> judge. Whatever goes wrong with one case becomes its verdict: a
// refusal of the launch code or the encoder is `rejected`, a failure of the harness itself is `mistrusted` with
// is_internal set. Throws nothing but std::bad_alloc.
[[nodiscard]] Verdict execute_case(const PreparedVariant& prepared, const Case& about, const metal::SimulatorOptions& options);

}  // namespace assay::harness
