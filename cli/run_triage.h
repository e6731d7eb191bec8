// The option --triage of runs, which a program without triage does not have.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/failure_keeper.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/workspace.h"
#include "harness/findings/finding_record.h"
#include "harness/ledger/ledger.h"
#include "harness/prepare/workbench.h"
#include "harness/process/runner.h"

namespace assay::cli {

// As causes_of_run() in cli/causes.h.
using CausesOfRun = std::vector<harness::FindingRecord>(const Options& options, const Workspace& workspace,
                                                        const harness::Workbench& workbench, const harness::RunOptions& running,
                                                        const std::vector<std::string>& failing, Outcomes outcomes,
                                                        const InterruptGuard& interrupt);
// Before options are added. Without it, there is no option.
void offer_triage(CausesOfRun* causes_of_run);

void add_run_triage(CLI::App& command, Options& options);

// The causes of the failures among `records`, of which `outcomes` has those of this process.
[[nodiscard]] std::vector<harness::FindingRecord> triage_run(const Options& options, const Workspace& workspace,
                                                             const harness::Workbench& workbench, const harness::RunOptions& running,
                                                             const std::vector<harness::CaseRecord>& records, Outcomes outcomes,
                                                             const InterruptGuard& interrupt);

}  // namespace assay::cli
