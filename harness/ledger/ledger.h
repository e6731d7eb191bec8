// The ledger: a SQLite database of runs, with the verdict and the figures of every case, of those that passed as well.
//
// Schema, version 5 (PRAGMA user_version; application_id 0x41535359, "ASSY"):
//
//   run      id, started, finished (UTC, ISO 8601; NULL while it runs or if it was killed), command (for people to
//            read), replay_options (of version 3 and before: as replay_word, in one line), version, machine, suite_seed, schedule ('' each
//            case's own), selected (cases), stopped (0/1: ended before every case had run), digest (hex), outside_limits (cases of the
//            suites asked for that [limits] left out), policy, shard ("2/4"; '' the whole), selection (hash of the names of all selected
//            cases, those of other shards as well), build (hash of the program that judged), compiler, flags and toolchain (what compiled
//            the kernels: its own name and version, its options, the hash of it, our headers, the pass and the processor), writer (the
//            process: "host/pid/start"), weaker_accuracy (selected cases whose variant declares a weaker storage), seal (hex: hash of the
//            description, with the user's key)
//   source   run, variant, file, digest   of the kernels: the source as the preprocessor leaves it, and the description
//   note     run, rank (from 0), text     what was said of the run as a whole: declared accuracies, borrowed kernels ...
//   replay_word  run, rank (from 0), word   what follows the case's name when one is repeated
//   verdict  run, name (the case, as it replays), ordinal (from 0, in the order of starting), variant, family, fixture, seed,
//            axes (JSON object), status (NULL from the start of the case until its verdict), reason (of version 3 and before), schedules,
//            is_internal, row_length, compared, above_bound, not_written, nans, infs, guard_violations, uninformative, distinct_expected,
//            max_ratio, max_ratio_index, max_abs_error, max_rel_error, nmse, cosine, median_bound_ratio, digest (hex),
//            threadgroups, meeting_points, collectives, divergent_collectives, matrix_multiplies, oracle_seconds, simulator_seconds,
//            note (what else was said of the verdict; NULL until then), known (of status `known`: the findings, a line each),
//            rounding_ratio, logic_ratio (of policy `shadow`: the largest parts of an error, in units of what each may be),
//            seal (hex: hash of all that the ledger holds of the case and of the run's seal, with the user's key)
//   worst    run, name, rank (from 0), element, expected, actual, bound, ratio, fault     elements of verdicts that did not pass
//   stage    run, name, stage, is_judged, passed, reason (of version 3 and before, else ''), compared, max_ratio
//   fault    run, name, stage ('': of the verdict itself), rank (as they are told), kind (harness/findings/fault.h), schedule
//   fault_value  run, name, stage, rank, key, value     what it holds: "count", "place.line", "places[0].first"
//   hazard   run, name, rank, kind, function, message, file, line, second_file, second_line, count
//   cost     run, name, the figures of metal::Cost     of policy `checked`, which counts them
//
// Errors, bounds and ratios are in the units of the output; ratio = error / bound; a NaN is NULL. `axes` serves queries:
//   SELECT axes->>'nwg', max(max_ratio) FROM verdict WHERE run = 7 GROUP BY 1;
//   SELECT kind, count(*) FROM fault WHERE run = 7 AND stage = '' GROUP BY 1;
// What a version before did not keep is NULL: version 1 had neither note nor run.outside_limits and verdict.note; version 2 neither source
// nor cost, nor the columns from run.policy and verdict.known on; version 3 neither fault nor
// replay_word; version 4 neither seals nor run.weaker_accuracy. A file of an older version keeps its runs: opened to write it becomes
// version 5, opened to read it stays what it is. Seals are verified before a run is gone on with. A run that another user, or an older
// assay, recorded can be read, reported and merged. Write-ahead logging: a verdict is there once record() has returned, whatever happens to
// the process afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/findings/verdict.h"
#include "harness/ledger/sqlite.h"
#include "harness/process/runner.h"

namespace assay::harness {

using RunId = std::int64_t;

// The kernel of a variant as it was when a run began.
struct SourceRecord {
  std::string variant, file;
  std::string digest;
  friend bool operator==(const SourceRecord&, const SourceRecord&) = default;
};

// What made the verdicts of a run; every text empty where an older ledger did not say.
struct Environment {
  std::string policy;
  std::string build;      // hash of the program that judged
  std::string compiler;   // of the kernels: "Debian clang version 19.1.7"
  std::string flags;      // its options
  std::string toolchain;  // hash of it, our headers, the pass and the processor
  std::vector<SourceRecord> sources;
};

// What a run was asked to do, and where.
struct RunDescription {
  std::string command;                      // as it was typed
  std::vector<std::string> replay_options;  // words that `assay run CASE` needs besides the name to repeat a case: "--kernel", "mine.metal"
  std::string version;                      // of assay
  std::string machine;                      // operating system and processor
  std::string schedule;                     // --schedule; empty: each case's own
  std::uint64_t seed = 0;
  std::size_t selected = 0;             // cases
  std::size_t outside_limits = 0;       // cases of the suites asked for that [limits] of their variants left out
  std::vector<std::string> notes = {};  // what a reader of every report of it should know, a line each
  std::string shard = {};               // "2/4"; empty: the whole selection
  std::string selection = {};           // Selection::digest
  Environment environment = {};
  std::size_t weaker_accuracy = 0;  // selected cases that are judged with the weaker storage that their variant declares
};

struct RunRecord {
  RunId id = 0;
  RunDescription description;
  std::string started, finished;  // UTC, ISO 8601; `finished` is empty if the run never came to its end
  bool stopped = false;
  std::size_t verdicts = 0;  // cases with one
  std::size_t failures = 0;  // of these, neither passed, known nor skipped
  std::string digest;        // hex; empty until `finished`
};

// One case as the ledger keeps it. Without a verdict (its run was ended meanwhile) `status` is empty.
struct CaseRecord {
  std::string name, variant, family, fixture;
  std::uint64_t seed = 0;
  std::vector<std::pair<std::string, std::int64_t>> axes;  // in the family's order
  std::optional<Status> status;
  std::vector<Fault> faults;
  std::string note, schedules;
  std::size_t row_length = 1;
  Judgement judgement;  // `worst` only where the case did not pass
  std::vector<StageVerdict> stages;
  std::vector<metal::Hazard> hazards;
  std::vector<std::string> known;
  bool is_internal = false;
  metal::ExecutionCounters counters;
  std::optional<metal::Cost> cost;
  double rounding_ratio = 0, logic_ratio = 0;  // NaN without a split
  std::uint64_t digest = 0;
  double oracle_seconds = 0, simulator_seconds = 0;
};

// The figures of a run as run_cases() would have summed them up, of those cases that have a verdict; `seconds` is not known.
[[nodiscard]] Summary summary_of(std::size_t selected, std::span<const CaseRecord> cases);

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
  // Takes up a run that was killed or stopped: what is started and recorded from now on joins it, and it is unfinished again. Throws
  // LedgerError if the process that writes it still runs.
  void take_up(RunId run);

  // Adds the cases of a run of another ledger to a run of this one, behind those that it has, with all that is known of them. Seals those
  // that carry a seal of this user there. Throws LedgerError if this run has a verdict on one of them already.
  void copy_cases(const Ledger& from, RunId source, RunId run);

  // Why the verdicts of a run are not to be believed; empty if all carry this user's seal and none contradicts itself. Throws
  // base::UserKeyError without a key.
  [[nodiscard]] std::string doubt_about(RunId id) const;
  // What happened to the file, or to this run in it, since this process opened it to write; empty if nothing. The run must have that many
  // verdicts.
  [[nodiscard]] std::string damage_since_opening(RunId id, std::size_t verdicts) const;

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
