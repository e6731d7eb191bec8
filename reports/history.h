// The runs of a ledger, and what they say of one case, as text.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/ledger/ledger.h"

namespace assay::reports {

// A line for each run, oldest first.
[[nodiscard]] std::string history_text(std::span<const harness::RunRecord> runs);

// What one run said of a case.
struct CaseInRun {
  harness::RunRecord run;
  harness::CaseRecord record;
};

// One case through the runs that have it, oldest first: verdict, error/bound, whether its bits are those of the run before.
[[nodiscard]] std::string case_history_text(const std::string& name, std::span<const CaseInRun> past);

}  // namespace assay::reports
