// Runs selected cases, and says and records what came out. For the commands that run many.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/workspace.h"
#include "harness/findings/finding_record.h"
#include "harness/findings/verdict.h"
#include "harness/prepare/workbench.h"
#include "harness/process/runner.h"

namespace assay::cli {

// Of --triage, at the end of a run: see causes_of_run() in cli/causes.h.
using CausesOfRun = std::vector<harness::FindingRecord>(const Options& options, const Workspace& workspace,
                                                        const harness::Workbench& workbench, const harness::RunOptions& running,
                                                        const std::vector<std::string>& failing, std::vector<harness::Verdict> verdicts,
                                                        const InterruptGuard& interrupt);
// Before options are parsed. Without it, runs have no option --triage.
void offer_triage(CausesOfRun* causes_of_run);

// The run options for so many cases.
[[nodiscard]] harness::RunOptions run_options_for(const Options& options, std::size_t cases);

// Notes on a whole run, which every report repeats.
[[nodiscard]] std::vector<std::string> run_notes(const Options& options, const Workspace& workspace, const harness::Workbench& workbench);

// Runs workspace.selection, prints failures, notes and the summary, records everything, and returns the exit status.
[[nodiscard]] int run_prepared(const Options& options, const Workspace& workspace, const harness::Workbench& workbench,
                               const harness::RunOptions& running, const InterruptGuard& interrupt);

}  // namespace assay::cli
