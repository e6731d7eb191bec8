// Lists the runs of a ledger, and the verdicts of one case in them, as text.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/ledger/ledger.h"

namespace assay::reports {

// One line per run, oldest first.
[[nodiscard]] std::string history_text(std::span<const harness::RunRecord> runs);

// The verdict of a case in one run.
struct CaseInRun {
  harness::RunRecord run;
  harness::CaseRecord record;
};

// One case in all runs that contain it, oldest first: verdict, error/bound, and whether its bits equal those of the run before.
[[nodiscard]] std::string case_history_text(const std::string& name, std::span<const CaseInRun> past);

}  // namespace assay::reports
