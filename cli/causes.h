// Triage of the failures of a run, for `assay triage` and for `assay run --triage`.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/failure_keeper.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/workspace.h"
#include "harness/findings/finding_record.h"
#include "harness/findings/verdict.h"
#include "harness/prepare/workbench.h"
#include "harness/process/runner.h"
#include "harness/triage/triage.h"
#include "reports/triage_json.h"

namespace assay::cli {

struct TriageSetting {
  const Options& options;
  const Workspace& workspace;
  const harness::WorkbenchOptions& bench;
  const harness::RunOptions& running;
  const std::vector<std::string>& against;  // files of --against
  harness::TriageOptions limits;            // without relatives and cases that passed
};

// Throws std::invalid_argument if a file of --against does not exist or does not compile. `tell` gets the variants one after the other as
// they are done; no further one is begun after an interruption.
void find_causes(const TriageSetting& setting, const Outcomes& outcomes, const InterruptGuard& interrupt,
                 const std::function<void(reports::TriagedVariant)>& tell);

// Of --triage, at the end of a run. Runs again those of `failing` that `outcomes`, of this process, do not have: they failed in an earlier
// process. Prints a line for each cause.
[[nodiscard]] std::vector<harness::FindingRecord> causes_of_run(const Options& options, const Workspace& workspace,
                                                                const harness::Workbench& workbench, const harness::RunOptions& running,
                                                                const std::vector<std::string>& failing, Outcomes outcomes,
                                                                const InterruptGuard& interrupt);

}  // namespace assay::cli
