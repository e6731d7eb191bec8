// Records a run in the ledger and writes the requested reports from it.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "cli/options.h"
#include "harness/cases/selection.h"
#include "harness/ledger/ledger.h"
#include "harness/prepare/workbench.h"
#include "harness/process/runner.h"

namespace assay::cli {

// What the verdicts depend on: policy, compiler, and a digest of every variant's sources and description.
[[nodiscard]] harness::Environment environment_of(const Options& options, const harness::Workbench& workbench);

class Recording {
 public:
  // Opens the ledger of --ledger, else the user's default. Uses one in memory for `--ledger none`, and, with a note on stderr, if the
  // default ledger cannot be written. Every report prints `notes`. With --resume, continues a run of the same cases if there is one. Throws
  // before anything runs: harness::LedgerError if --ledger cannot be used, std::invalid_argument if a report cannot be written or
  // the run to resume is not comparable.
  Recording(const Options& options, const harness::Selection& selection, const harness::Workbench& workbench,
            std::vector<std::string> notes);

  // The selected cases without a verdict.
  [[nodiscard]] std::vector<harness::Case> missing(std::span<const harness::Case> cases) const;
  [[nodiscard]] std::size_t recorded_before() const { return recorded_.size(); }

  // Records what run_cases() reports, then forwards it to `next`.
  [[nodiscard]] harness::Recorder recorder(harness::RunListener& next) { return {ledger_, run_, next}; }

  // Finishes the run in the ledger and writes the reports. Returns the summary of the whole run, including verdicts of an earlier
  // process if it was resumed.
  [[nodiscard]] harness::Summary finish(const harness::Summary& summary);

  // Stores what triage found, and writes the reports again, with the causes.
  void record_findings(const std::vector<harness::FindingRecord>& findings);

  // What happened to the ledger while the run went on: a sentence; empty if nothing. Known after finish().
  [[nodiscard]] std::string damage() const;

  // The command that repeats the first failing case; empty if none failed.
  [[nodiscard]] std::string first_replay() const;

  [[nodiscard]] std::vector<harness::CaseRecord> cases() const { return ledger_.cases(run_); }
  [[nodiscard]] harness::RunRecord run() const { return ledger_.run(run_); }

 private:
  const Options& options_;
  harness::Ledger ledger_;
  harness::RunId run_ = 0;
  std::string damage_;
  std::set<std::string> recorded_;  // cases that have a verdict from an earlier process
};

// "excused: ..." with all that did not have to pass, and a line break; empty if there is nothing.
[[nodiscard]] std::string excused_line(const harness::RunRecord& run, const std::vector<harness::CaseRecord>& cases);

// Whether the run passes under fast mathematics, and a line break; empty if it was not executed so.
[[nodiscard]] std::string robustness_line(const harness::RunRecord& run, std::span<const harness::CaseRecord> cases);

// The command line of this process, quoted for a shell.
[[nodiscard]] std::string command_line();

// The command that repeats the first failing case of a run; empty if none failed.
[[nodiscard]] std::string first_replay(const harness::RunRecord& run, const std::vector<harness::CaseRecord>& cases);

}  // namespace assay::cli
