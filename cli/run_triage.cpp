// Connects runs with triage, if the program has it.
#include "cli/run_triage.h"

#include <utility>

namespace assay::cli {
namespace {

CausesOfRun* offered = nullptr;

}  // namespace

void offer_triage(CausesOfRun* causes_of_run) { offered = causes_of_run; }

void add_run_triage(CLI::App& command, Options& options) {
  if (offered == nullptr) return;
  command.add_flag(
      "--triage", options.triage,
      "After the run, group the failing cases by cause, as `assay triage` does, and keep the causes in the ledger: reports show "
      "class, source line and repair");
}

std::vector<harness::FindingRecord> triage_run(const Options& options, const Workspace& workspace, const harness::Workbench& workbench,
                                               const harness::RunOptions& running, const std::vector<harness::CaseRecord>& records,
                                               Outcomes outcomes, const InterruptGuard& interrupt) {
  std::vector<std::string> failing;
  for (const harness::CaseRecord& record : records) {
    if (record.status && !harness::is_success(*record.status)) failing.push_back(record.name);
  }
  return offered(options, workspace, workbench, running, failing, std::move(outcomes), interrupt);
}

}  // namespace assay::cli
