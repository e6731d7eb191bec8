// The ledger: a SQLite database of runs, with the verdict and the figures of every case, of those that passed as well.
//
// Schema, version 2 (PRAGMA user_version; application_id 0x41535359, "ASSY"):
//
//   run      id, started, finished (UTC, ISO 8601; NULL while it runs or if it was killed), command, replay_options (what follows
//            the case's name when one is repeated), version, machine, suite_seed, schedule ('' each case's own), selected (cases),
//            stopped (0/1: ended before every case had run), digest (hex), outside_limits (cases of the suites asked for that [limits] left
//            out; NULL: version 1 did not count them)
//   note     run, rank (from 0), text     what was said of the run as a whole: declared accuracies, borrowed kernels ...
//   verdict  run, name (the case, as it replays), ordinal (from 0, in the order of starting), variant, family, fixture, seed,
//            axes (JSON object), status (NULL from the start of the case until its verdict), reason, schedules, is_internal,
//            row_length, compared, above_bound, not_written, nans, infs, guard_violations, uninformative, distinct_expected,
//            max_ratio, max_ratio_index, max_abs_error, max_rel_error, nmse, cosine, median_bound_ratio, digest (hex),
//            threadgroups, meeting_points, collectives, divergent_collectives, matrix_multiplies, oracle_seconds, simulator_seconds,
//            note (what else was said of the verdict; NULL until then, and in runs of version 1)
//   worst    run, name, rank (from 0), element, expected, actual, bound, ratio, fault     elements of verdicts that did not pass
//   stage    run, name, stage, is_judged, passed, reason, compared, max_ratio
//   hazard   run, name, rank, kind, function, message, file, line, second_file, second_line, count
//
// Errors, bounds and ratios are in the units of the output; ratio = error / bound; a NaN is NULL. `axes` serves queries:
//   SELECT axes->>'nwg', max(max_ratio) FROM verdict WHERE run = 7 GROUP BY 1;
// A file of version 1 (without note, run.outside_limits and verdict.note) keeps its runs: opened to write it becomes version 2, opened to
// read it stays what it is.
// Write-ahead logging: a verdict is there once record() has returned, whatever happens to the process afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/ledger/sqlite.h"
#include "harness/run/runner.h"
#include "harness/run/verdict.h"

namespace assay::harness {

using RunId = std::int64_t;

// What a run was asked to do, and where.
struct RunDescription {
  std::string command;         // as it was typed
  std::string replay_options;  // what `assay run CASE` needs besides the name to repeat a case: "--kernel mine.metal --family tq4"
  std::string version;         // of assay
  std::string machine;         // operating system and processor
  std::string schedule;        // --schedule; empty: each case's own
  std::uint64_t seed = 0;
  std::size_t selected = 0;             // cases
  std::size_t outside_limits = 0;       // cases of the suites asked for that [limits] of their variants left out
  std::vector<std::string> notes = {};  // what a reader of every report of it should know, a line each
};

struct RunRecord {
  RunId id = 0;
  RunDescription description;
  std::string started, finished;  // UTC, ISO 8601; `finished` is empty if the run never came to its end
  bool stopped = false;
  std::size_t verdicts = 0;  // cases with one
  std::size_t failures = 0;  // of these, neither passed, known nor skipped
};

// One case as the ledger keeps it. Without a verdict (its run was ended meanwhile) `status` is empty.
struct CaseRecord {
  std::string name, variant, family, fixture;
  std::uint64_t seed = 0;
  std::vector<std::pair<std::string, std::int64_t>> axes;  // in the family's order
  std::optional<Status> status;
  std::string reason, note, schedules;
  std::size_t row_length = 1;
  Judgement judgement;  // `worst` only where the case did not pass
  std::vector<StageVerdict> stages;
  std::vector<metal::Hazard> hazards;
  std::uint64_t digest = 0;
  double oracle_seconds = 0, simulator_seconds = 0;
};

class Ledger {
 public:
  // Opens the file or makes it, and its folder; one of an older version is brought to this one. Throws LedgerError if that is impossible,
  // if the file is no ledger, or if its version is newer than this program's.
  [[nodiscard]] static Ledger open(const std::filesystem::path& file);
  // To read only; the file must exist, of this version or an older one.
  [[nodiscard]] static Ledger open_existing(const std::filesystem::path& file);
  [[nodiscard]] static Ledger in_memory();
  // $XDG_STATE_HOME/assay/ledger.sqlite, or the same in ~/.local/state.
  [[nodiscard]] static std::filesystem::path default_file();

  Ledger(Ledger&&) noexcept;
  Ledger& operator=(Ledger&&) noexcept;
  ~Ledger();

  [[nodiscard]] RunId begin(const RunDescription& description);
  // The case's name is in the ledger before it runs, so that one which takes everything down leaves a trace.
  void started(RunId run, const Case& about);
  // Throws std::invalid_argument if the case was never started.
  void record(RunId run, const Verdict& verdict);
  void finish(RunId run, const Summary& summary);

  // Forgets all but the newest `count` runs.
  void keep(std::size_t count);

  [[nodiscard]] std::vector<RunRecord> runs() const;  // oldest first
  // Throws LedgerError if there is no such run.
  [[nodiscard]] RunRecord run(RunId id) const;
  [[nodiscard]] std::vector<CaseRecord> cases(RunId id) const;  // in the order of starting

  [[nodiscard]] const std::filesystem::path& file() const;

 private:
  struct Store;
  explicit Ledger(std::unique_ptr<Store> store);
  std::unique_ptr<Store> store_;
};

// Writes what a run tells into the ledger, then passes it on: nothing is shown that is not recorded.
class Recorder final : public RunListener {
 public:
  Recorder(Ledger& ledger, RunId run, RunListener& next) : ledger_(ledger), run_(run), next_(next) {}
  void started(const Case& about) override;
  void finished(const Verdict& verdict, const Summary& so_far) override;
  [[nodiscard]] bool tick() override { return next_.tick(); }

 private:
  Ledger& ledger_;
  RunId run_;
  RunListener& next_;
};

}  // namespace assay::harness
