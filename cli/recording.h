// Keeps a run in the ledger and writes the reports that were asked for from it.
#pragma once

#include <string>
#include <vector>

#include "cli/options.h"
#include "harness/cases/selection.h"
#include "harness/ledger/ledger.h"
#include "harness/run/runner.h"

namespace assay::cli {

class Recording {
 public:
  // Opens the ledger that --ledger names, else the user's own; one of its own in memory for `--ledger none`, and, with a note on
  // stderr, where the user's own cannot be written. `notes` are told in every report. Throws harness::LedgerError for a --ledger that
  // cannot be used, and std::invalid_argument if --junit names a file that cannot be written: before anything runs.
  Recording(const Options& options, const harness::Selection& selection, std::vector<std::string> notes);

  // What run_cases() tells goes into the ledger first, then to `next`.
  [[nodiscard]] harness::Recorder recorder(harness::RunListener& next) { return {ledger_, run_, next}; }

  // Ends the run in the ledger and writes --junit.
  void finish(const harness::Summary& summary);

  // The command that repeats the first case that failed; empty if none did.
  [[nodiscard]] std::string first_replay() const;

  [[nodiscard]] std::vector<harness::CaseRecord> cases() const { return ledger_.cases(run_); }

 private:
  const Options& options_;
  harness::Ledger ledger_;
  harness::RunId run_ = 0;
};

}  // namespace assay::cli
