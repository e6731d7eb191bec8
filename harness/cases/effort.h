// An estimate of the processor time that cases take, before they run.
#pragma once

#include <span>

#include "harness/cases/case.h"

namespace assay::harness {

// Seconds of processor time for one case under policy native: inputs, oracle and judge included, compilation not. Measured on one machine
// and meant for long suites (docs/CLUSTER.md has both figures); a single case may take several times as much.
[[nodiscard]] double expected_seconds(const Case& value);
[[nodiscard]] double expected_seconds(std::span<const Case> cases);

}  // namespace assay::harness
