// A run as text for a terminal: what did not pass, with causes, and figures by fixture and axis value.
#pragma once

#include <span>
#include <string>

#include "harness/ledger/ledger.h"

namespace assay::reports {

// One line: id, verdicts, failures, times and command of the run.
[[nodiscard]] std::string run_headline(const harness::RunRecord& run);

// Similar failures are shown once, by the smallest of them.
[[nodiscard]] std::string run_text(const harness::RunRecord& run, std::span<const harness::CaseRecord> cases);

}  // namespace assay::reports
