// Keeps a run in the ledger and writes the reports that were asked for from it.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "cli/options.h"
#include "harness/cases/selection.h"
#include "harness/ledger/ledger.h"
#include "harness/run/runner.h"
#include "harness/run/workbench.h"

namespace assay::cli {

// What makes the verdicts of a run: policy, compiler, and a digest of every variant's sources and description.
[[nodiscard]] harness::Environment environment_of(const Options& options, const harness::Workbench& workbench);

class Recording {
 public:
  // Opens the ledger that --ledger names, else the user's own; one of its own in memory for `--ledger none`, and, with a note on
  // stderr, where the user's own cannot be written. `notes` are told in every report. With --resume a run of the same cases is taken up
  // again if there is one. Throws harness::LedgerError for a --ledger that cannot be used, and std::invalid_argument if --junit or --html
  // names a file that cannot be written, or if verdicts of the run to resume could not stand beside those to come: before anything runs.
  Recording(const Options& options, const harness::Selection& selection, const harness::Workbench& workbench,
            std::vector<std::string> notes);

  // Those of the selection that have no verdict yet.
  [[nodiscard]] std::vector<harness::Case> missing(std::span<const harness::Case> cases) const;
  [[nodiscard]] std::size_t recorded_before() const { return recorded_.size(); }

  // What run_cases() tells goes into the ledger first, then to `next`.
  [[nodiscard]] harness::Recorder recorder(harness::RunListener& next) { return {ledger_, run_, next}; }

  // Ends the run in the ledger and writes --junit and --html. The summary of the whole run, of which run_cases() carried out a part if it
  // was resumed.
  [[nodiscard]] harness::Summary finish(const harness::Summary& summary);

  // The command that repeats the first case that failed; empty if none did.
  [[nodiscard]] std::string first_replay() const;

  [[nodiscard]] std::vector<harness::CaseRecord> cases() const { return ledger_.cases(run_); }

 private:
  const Options& options_;
  harness::Ledger ledger_;
  harness::RunId run_ = 0;
  std::set<std::string> recorded_;  // names with a verdict of an earlier process
};

// The words of this process, as the shell would take them.
[[nodiscard]] std::string command_line();

// Those that the options ask for.
void write_reports(const Options& options, const harness::RunRecord& run, const std::vector<harness::CaseRecord>& cases);

// The command that repeats the first case of a run that failed; empty if none did.
[[nodiscard]] std::string first_replay(const harness::RunRecord& run, const std::vector<harness::CaseRecord>& cases);

}  // namespace assay::cli
