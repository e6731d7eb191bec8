// An estimate of the processor time that cases take, before they run.
#pragma once

#include <span>

#include "harness/cases/case.h"

namespace assay::harness {

// Seconds of processor time for one case under policy native: inputs, oracle and judge included, compilation not. Measured on one machine
// (docs/CLUSTER.md), where the sum over a shard of the suite `soak` was right within a quarter; a single case may take several times as
// much.
[[nodiscard]] double expected_seconds(const Case& value);
[[nodiscard]] double expected_seconds(std::span<const Case> cases);

}  // namespace assay::harness
