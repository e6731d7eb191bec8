// Which declaration of weaker storage would explain the failures of a run.
#pragma once

#include <atomic>
#include <span>
#include <string>
#include <vector>

#include "harness/ledger/ledger.h"
#include "harness/prepare/workbench.h"
#include "harness/process/runner.h"

namespace assay::cli {

// Repeats some of the failing cases of each variant that declares none, with the bounds of one declaration after the other, and has a
// sentence for each variant whose failures one of them explains. The size of an error alone does not tell: the same rounding of a key is
// a large error beside large scores, and none beside small ones.
[[nodiscard]] std::vector<std::string> storage_hints(std::span<const harness::Case> cases, const harness::Workbench& workbench,
                                                     const harness::RunOptions& running, const std::atomic<bool>& stop,
                                                     std::span<const harness::CaseRecord> records);

}  // namespace assay::cli
