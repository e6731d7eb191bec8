// The ledger: a SQLite database of runs, with the verdict and the figures of every case, including those that passed.
//
// docs/LEDGER.md has its tables and columns; schema.cpp makes them, and a test compares both. Opening a file of an older version for
// writing upgrades it and keeps its runs; opening it for reading leaves it unchanged. Values that an older version did not store are NULL.
// Seals are verified before a run is continued. A run that another user, or an older assay, recorded can be read, reported and merged.
// The file uses write-ahead logging: a verdict is stored once record() has returned, even if the process is killed afterwards.
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

#include "harness/findings/finding_record.h"
#include "harness/findings/verdict.h"
#include "harness/ledger/sqlite.h"
#include "harness/process/runner.h"

namespace assay::harness {

using RunId = std::int64_t;

// The kernel of a variant at the start of a run.
struct SourceRecord {
  std::string variant, file;
  std::string digest;
  friend bool operator==(const SourceRecord&, const SourceRecord&) = default;
};

// The programs that made the verdicts of a run. Texts are empty if an older ledger did not record them.
struct Environment {
  std::string policy;
  std::string build;      // hash of the program that judged
  std::string compiler;   // of the kernels: "Debian clang version 19.1.7"
  std::string flags;      // the compiler's options
  std::string toolchain;  // hash of the compiler, our headers, the pass and the processor
  std::vector<SourceRecord> sources;
};

// The request of a run, and where it ran.
struct RunDescription {
  std::string command;                      // as typed
  std::vector<std::string> replay_options;  // words that `assay run CASE` needs besides the name to repeat a case: "--kernel", "mine.metal"
  std::string version;                      // of assay
  std::string machine;                      // operating system and processor
  std::string schedule;                     // --schedule; empty: each case's own
  std::uint64_t seed = 0;
  std::size_t selected = 0;             // number of cases
  std::size_t outside_limits = 0;       // cases of the requested suites that [limits] of their variants excluded
  std::vector<std::string> notes = {};  // notes for readers of all reports of the run, a line each
  std::string shard = {};               // "2/4"; empty: the whole selection
  std::string selection = {};           // Selection::digest
  Environment environment = {};
  std::size_t weaker_accuracy = 0;  // selected cases that are judged with the weaker storage that their variant declares
};

struct RunRecord {
  RunId id = 0;
  RunDescription description;
  std::string started, finished;  // UTC, ISO 8601; `finished` is empty if the run did not finish
  bool stopped = false;
  std::size_t verdicts = 0;                  // cases with a verdict
  std::size_t failures = 0;                  // of these, neither passed, known nor skipped
  std::string digest;                        // hex; empty until `finished`
  std::vector<FindingRecord> findings = {};  // of triage; only Ledger::run() reads them
};

// A line of a kernel's source, as it was when a case named it or one beside it. At most kLongestSourceLine bytes.
struct SourceLine {
  std::string file;
  std::uint32_t line = 0;
  std::string text;
  friend bool operator==(const SourceLine&, const SourceLine&) = default;
};
inline constexpr std::size_t kLongestSourceLine = 400;

// One case in the ledger. `status` is empty if the run ended before the case had a verdict.
struct CaseRecord {
  std::string name, variant, family, fixture;
  std::uint64_t seed = 0;
  std::vector<std::pair<std::string, std::int64_t>> axes;  // in the family's order
  std::optional<Status> status;
  std::vector<Fault> faults;
  std::vector<Note> notes;
  std::string schedules;
  std::size_t row_length = 1;
  Judgement judgement;  // `worst` is the first alone if the case passed
  std::vector<StageVerdict> stages;
  std::vector<metal::Hazard> hazards;
  std::vector<metal::Hazard> remarks;
  std::vector<std::string> known;
  bool is_internal = false;
  metal::ExecutionCounters counters;
  std::optional<metal::Cost> cost;
  double rounding_ratio = 0, logic_ratio = 0;  // NaN without a split
  std::uint64_t digest = 0;
  double oracle_seconds = 0, simulator_seconds = 0;
  std::vector<SourceLine> lines = {};  // around the places of its hazards, remarks and faults; ascending by file and line
};

// What became of a case, without its figures.
struct CaseOutcome {
  std::string name;
  std::optional<Status> status;
  double max_ratio = 0;  // largest error/bound; NaN before there is a verdict
  std::uint64_t digest = 0;
};

// The summary that run_cases() would have made of the cases that have a verdict; `seconds` is unknown.
[[nodiscard]] Summary summary_of(std::size_t selected, std::span<const CaseRecord> cases);

class Ledger {
 public:
  // Opens or creates the file and its folder. A file of an older version is upgraded to this version. Throws LedgerError if that is
  // impossible, if the file is not a ledger, or if its version is newer than this program's.
  [[nodiscard]] static Ledger open(const std::filesystem::path& file);
  // Opens for reading only. The file must exist, in this version or an older one.
  [[nodiscard]] static Ledger open_existing(const std::filesystem::path& file);
  [[nodiscard]] static Ledger in_memory();
  // $XDG_STATE_HOME/assay/ledger.sqlite, or the same in ~/.local/state.
  [[nodiscard]] static std::filesystem::path default_file();

  Ledger(Ledger&&) noexcept;
  Ledger& operator=(Ledger&&) noexcept;
  ~Ledger();

  [[nodiscard]] RunId begin(const RunDescription& description);
  // Stores the case's name before the case runs, so that a case that ends everything leaves a trace.
  void started(RunId run, const Case& test_case);
  // Throws std::invalid_argument if the case was never started.
  void record(RunId run, const Verdict& verdict);
  void finish(RunId run, const Summary& summary);
  // Stores what triage found in the place of earlier findings of the run. Throws std::invalid_argument if a case of a finding is none of
  // the run.
  void record_findings(RunId run, std::span<const FindingRecord> findings);
  // Continues a run that was killed or stopped: further cases join it, and it counts as unfinished again. Throws LedgerError if the
  // process that writes it is still running.
  void take_up(RunId run);

  // Adds the cases of a run of another ledger, with all their data, to a run of this one, after its own cases. Seals those that carry a
  // seal of this user there. Throws LedgerError if this run already has a verdict on one of them.
  void copy_cases(const Ledger& from, RunId source, RunId run);

  // Why the verdicts of a run are not to be believed; empty if all carry this user's seal and none contradicts itself. Throws
  // base::UserKeyError without a key.
  [[nodiscard]] std::string doubt_about(RunId id) const;
  // What happened to the file, or to this run in it, since this process opened it to write; empty if nothing. The run must have that many
  // verdicts.
  [[nodiscard]] std::string damage_since_opening(RunId id, std::size_t verdicts) const;

  // Deletes all but the newest `count` runs.
  void keep(std::size_t count);

  [[nodiscard]] std::vector<RunRecord> runs() const;  // oldest first
  // Throws LedgerError if there is no such run.
  [[nodiscard]] RunRecord run(RunId id) const;
  [[nodiscard]] std::vector<CaseRecord> cases(RunId id) const;  // in the order of starting
  // The same cases. Reads one table instead of nine.
  [[nodiscard]] std::vector<CaseOutcome> outcomes(RunId id) const;

  [[nodiscard]] const std::filesystem::path& file() const;

 private:
  struct Store;
  [[nodiscard]] std::vector<FindingRecord> findings(RunId id) const;
  explicit Ledger(std::unique_ptr<Store> store);
  std::unique_ptr<Store> store_;
};

// Writes the events of a run into the ledger, then passes them on. So everything that is shown has been recorded.
class Recorder final : public RunListener {
 public:
  Recorder(Ledger& ledger, RunId run, RunListener& next) : ledger_(ledger), run_(run), next_(next) {}
  void started(const Case& test_case) override;
  void finished(const Verdict& verdict, const Summary& so_far) override;
  [[nodiscard]] bool tick() override { return next_.tick(); }

 private:
  Ledger& ledger_;
  RunId run_;
  RunListener& next_;
};

}  // namespace assay::harness
