#include "harness/ledger/ledger.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <map>

namespace assay::harness {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kApplicationId = 0x41535359;

// What makes version i + 1 of a file of version i; a new file is of version 0. A version that was released is never changed.
constexpr std::array kVersions = {R"(
CREATE TABLE run(
  id INTEGER PRIMARY KEY, started TEXT NOT NULL, finished TEXT, command TEXT NOT NULL, replay_options TEXT NOT NULL,
  version TEXT NOT NULL, machine TEXT NOT NULL, suite_seed INTEGER NOT NULL, schedule TEXT NOT NULL, selected INTEGER NOT NULL, stopped INTEGER, digest TEXT);
CREATE TABLE verdict(
  run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE, name TEXT NOT NULL, ordinal INTEGER NOT NULL,
  variant TEXT NOT NULL, family TEXT NOT NULL, fixture TEXT NOT NULL, seed INTEGER NOT NULL, axes TEXT NOT NULL,
  status TEXT, reason TEXT, schedules TEXT, is_internal INTEGER, row_length INTEGER,
  compared INTEGER, above_bound INTEGER, not_written INTEGER, nans INTEGER, infs INTEGER, guard_violations INTEGER,
  uninformative INTEGER, distinct_expected INTEGER, max_ratio REAL, max_ratio_index INTEGER, max_abs_error REAL, max_rel_error REAL,
  nmse REAL, cosine REAL, median_bound_ratio REAL, digest TEXT, threadgroups INTEGER, meeting_points INTEGER, collectives INTEGER,
  divergent_collectives INTEGER, matrix_multiplies INTEGER, oracle_seconds REAL, simulator_seconds REAL,
  PRIMARY KEY(run, name)) WITHOUT ROWID;
CREATE TABLE worst(
  run INTEGER NOT NULL, name TEXT NOT NULL, rank INTEGER NOT NULL, element INTEGER NOT NULL, expected REAL, actual REAL, bound REAL,
  ratio REAL, fault TEXT NOT NULL, PRIMARY KEY(run, name, rank),
  FOREIGN KEY(run, name) REFERENCES verdict(run, name) ON DELETE CASCADE) WITHOUT ROWID;
CREATE TABLE stage(
  run INTEGER NOT NULL, name TEXT NOT NULL, stage TEXT NOT NULL, is_judged INTEGER NOT NULL, passed INTEGER NOT NULL,
  reason TEXT NOT NULL, compared INTEGER NOT NULL, max_ratio REAL, PRIMARY KEY(run, name, stage),
  FOREIGN KEY(run, name) REFERENCES verdict(run, name) ON DELETE CASCADE) WITHOUT ROWID;
CREATE TABLE hazard(
  run INTEGER NOT NULL, name TEXT NOT NULL, rank INTEGER NOT NULL, kind TEXT NOT NULL, function TEXT NOT NULL, message TEXT NOT NULL,
  file TEXT NOT NULL, line INTEGER NOT NULL, second_file TEXT, second_line INTEGER, count INTEGER NOT NULL, PRIMARY KEY(run, name, rank),
  FOREIGN KEY(run, name) REFERENCES verdict(run, name) ON DELETE CASCADE) WITHOUT ROWID;
)",
                                  R"(
ALTER TABLE run ADD COLUMN outside_limits INTEGER;
ALTER TABLE verdict ADD COLUMN note TEXT;
CREATE TABLE note(
  run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE, rank INTEGER NOT NULL, text TEXT NOT NULL, PRIMARY KEY(run, rank)) WITHOUT ROWID;
)"};
constexpr auto kVersion = static_cast<std::int64_t>(kVersions.size());

// Version 1 as version 2 reads it, without a change to the file: names of temporary things come before the file's.
constexpr const char* kVersion1Read = R"(
CREATE TEMP VIEW run AS SELECT *, NULL AS outside_limits FROM main.run;
CREATE TEMP VIEW verdict AS SELECT *, NULL AS note FROM main.verdict;
CREATE TEMP TABLE note(run, rank, text);
)";

std::string now() {
  const auto time = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(time));
}

std::string hex(std::uint64_t word) { return fmt::format("{:016x}", word); }

std::uint64_t from_hex(const std::string& text) {
  std::uint64_t word = 0;
  std::from_chars(text.data(), text.data() + text.size(), word, 16);
  return word;
}

// Names of axes are plain words: nothing to escape.
std::string axes_of(const Case& about) {
  std::string json = "{";
  for (std::size_t i = 0; i < about.values.size(); ++i) {
    json += fmt::format("{}\"{}\":{}", i == 0 ? "" : ",", about.family->axes[i].name, about.values[i]);
  }
  return json + "}";
}

constexpr std::array<std::pair<ElementFault, std::string_view>, 5> kFaults = {{{ElementFault::none, ""},
                                                                               {ElementFault::above_bound, "above bound"},
                                                                               {ElementFault::not_written, "never written"},
                                                                               {ElementFault::nan, "nan"},
                                                                               {ElementFault::infinite, "infinite"}}};

std::string_view fault_name(ElementFault fault) {
  for (const auto& [known, name] : kFaults) {
    if (known == fault) return name;
  }
  return "";
}

ElementFault fault_of(std::string_view name) {
  for (const auto& [fault, known] : kFaults) {
    if (known == name) return fault;
  }
  return ElementFault::none;
}

std::optional<Status> status_of(const std::string& name) {
  for (int i = 0; i <= static_cast<int>(Status::skipped); ++i) {
    if (to_string(static_cast<Status>(i)) == name) return static_cast<Status>(i);
  }
  return std::nullopt;
}

metal::HazardKind hazard_kind_of(const std::string& name) {
  for (int i = 0; i <= static_cast<int>(metal::kLastHazardKind); ++i) {
    if (metal::to_string(static_cast<metal::HazardKind>(i)) == name) return static_cast<metal::HazardKind>(i);
  }
  return metal::HazardKind{};
}

}  // namespace

struct Ledger::Store {
  explicit Store(const fs::path& file, Database::Mode mode) : database(file, mode) {}

  void prepare_to_write() {
    database.execute("PRAGMA foreign_keys = ON; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
    make_or_advance_schema();
    start.emplace(database,
                  "INSERT INTO verdict(run, name, ordinal, variant, family, fixture, seed, axes)"
                  " VALUES(?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING");
    conclude.emplace(database,
                     "UPDATE verdict SET status = ?3, reason = ?4, schedules = ?5, is_internal = ?6, row_length = ?7, compared = ?8,"
                     " above_bound = ?9, not_written = ?10, nans = ?11, infs = ?12, guard_violations = ?13, uninformative = ?14,"
                     " distinct_expected = ?15, max_ratio = ?16, max_ratio_index = ?17, max_abs_error = ?18, max_rel_error = ?19,"
                     " nmse = ?20, cosine = ?21, median_bound_ratio = ?22, digest = ?23, threadgroups = ?24, meeting_points = ?25,"
                     " collectives = ?26, divergent_collectives = ?27, matrix_multiplies = ?28, oracle_seconds = ?29,"
                     " simulator_seconds = ?30, note = ?31 WHERE run = ?1 AND name = ?2");
    add_worst.emplace(database, "INSERT OR REPLACE INTO worst VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)");
    add_stage.emplace(database, "INSERT OR REPLACE INTO stage VALUES(?, ?, ?, ?, ?, ?, ?, ?)");
    add_hazard.emplace(database, "INSERT OR REPLACE INTO hazard VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  }

  void prepare_to_read() {
    if (checked_version() == 1) database.execute(kVersion1Read);
  }

  std::int64_t pragma(std::string_view name) {
    Statement statement(database, fmt::format("PRAGMA {}", name));
    return statement.step() ? statement.integer(0) : 0;
  }

  // Cases are numbered in the order of starting; one process alone writes a run.
  std::int64_t next_ordinal(RunId run) {
    const auto [found, is_new] = ordinals.try_emplace(run, 0);
    if (is_new) {
      Statement last(database, "SELECT coalesce(max(ordinal) + 1, 0) FROM verdict WHERE run = ?");
      last.bind(run).step();
      found->second = last.integer(0);
    }
    return found->second++;
  }

  Database database;
  std::map<RunId, std::int64_t> ordinals;
  std::optional<Statement> start, conclude, add_worst, add_stage, add_hazard;

 private:
  // Throws LedgerError if the file is no ledger, or one that this program does not know.
  std::int64_t checked_version() {
    const std::int64_t application = pragma("application_id");
    const std::int64_t version = pragma("user_version");
    if (application != kApplicationId) {
      throw LedgerError(fmt::format("{} is a SQLite database, but no ledger of assay", database.file().string()));
    }
    if (version < 1 || version > kVersion) {
      throw LedgerError(
          fmt::format("ledger {} has schema version {}; this assay knows versions 1 to {}", database.file().string(), version, kVersion));
    }
    return version;
  }

  void make_or_advance_schema() {
    // Two processes may find the file empty at once.
    Transaction transaction(database);
    Statement tables(database, "SELECT count(*) FROM sqlite_schema");
    tables.step();
    const bool is_new = tables.integer(0) == 0 && pragma("application_id") == 0;
    // What still reads the schema would forbid to change it.
    tables.bind();
    const std::int64_t version = is_new ? 0 : checked_version();
    for (auto step = static_cast<std::size_t>(version); step < kVersions.size(); ++step) database.execute(kVersions[step]);
    if (version != kVersion) {
      database.execute(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplicationId, kVersion));
    }
    transaction.commit();
  }
};

Ledger::Ledger(std::unique_ptr<Store> store) : store_(std::move(store)) {}
Ledger::Ledger(Ledger&&) noexcept = default;
Ledger& Ledger::operator=(Ledger&&) noexcept = default;
Ledger::~Ledger() = default;

Ledger Ledger::open(const fs::path& file) {
  std::error_code error;
  if (file.has_parent_path()) fs::create_directories(file.parent_path(), error);
  if (error) throw LedgerError(fmt::format("ledger {}: its folder cannot be made: {}", file.string(), error.message()));
  auto store = std::make_unique<Store>(file, Database::Mode::create);
  store->prepare_to_write();
  return Ledger(std::move(store));
}

Ledger Ledger::open_existing(const fs::path& file) {
  if (!fs::exists(file)) throw LedgerError(fmt::format("there is no ledger {}", file.string()));
  auto store = std::make_unique<Store>(file, Database::Mode::read_only);
  store->prepare_to_read();
  return Ledger(std::move(store));
}

Ledger Ledger::in_memory() {
  auto store = std::make_unique<Store>(":memory:", Database::Mode::create);
  store->prepare_to_write();
  return Ledger(std::move(store));
}

fs::path Ledger::default_file() {
  // The XDG specification has relative paths ignored.
  if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && fs::path(state).is_absolute()) {
    return fs::path(state) / "assay" / "ledger.sqlite";
  }
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') throw LedgerError("neither XDG_STATE_HOME nor HOME says where the ledger is to be kept");
  return fs::path(home) / ".local" / "state" / "assay" / "ledger.sqlite";
}

RunId Ledger::begin(const RunDescription& description) {
  Transaction transaction(store_->database);
  Statement insert(store_->database,
                   "INSERT INTO run(started, command, replay_options, version, machine, suite_seed, schedule, selected, outside_limits)"
                   " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)");
  insert
      .bind(now(), description.command, description.replay_options, description.version, description.machine, description.seed,
            description.schedule, description.selected, description.outside_limits)
      .run();
  const RunId run = store_->database.last_row_id();
  Statement note(store_->database, "INSERT INTO note(run, rank, text) VALUES(?, ?, ?)");
  for (std::size_t i = 0; i < description.notes.size(); ++i) note.bind(run, i, description.notes[i]).run();
  transaction.commit();
  return run;
}

void Ledger::started(RunId run, const Case& about) {
  store_->start
      ->bind(run, format_case(about), store_->next_ordinal(run), about.variant, about.family->name(), about.fixture, about.seed,
             axes_of(about))
      .run();
}

void Ledger::record(RunId run, const Verdict& verdict) {
  const std::string name = format_case(verdict.about);
  const Judgement& j = verdict.judgement;
  Transaction transaction(store_->database);
  store_->conclude
      ->bind(run, name, to_string(verdict.status), verdict.reason, verdict.schedules, verdict.is_internal, verdict.row_length, j.compared,
             j.above_bound, j.not_written, j.nans, j.infs, j.guard_violations, j.uninformative, j.distinct_expected, j.max_ratio,
             j.max_ratio_index, j.max_abs_error, j.max_rel_error, j.nmse, j.cosine, j.median_bound_ratio, hex(verdict.digest),
             verdict.counters.threadgroups, verdict.counters.meeting_points, verdict.counters.collectives,
             verdict.counters.divergent_collectives, verdict.counters.matrix_multiplies, verdict.oracle_seconds, verdict.simulator_seconds,
             verdict.note)
      .run();
  if (store_->database.changes() != 1) throw std::invalid_argument(fmt::format("the ledger was not told that {} started", name));
  if (!is_success(verdict.status) || verdict.status == Status::known) {
    for (std::size_t i = 0; i < j.worst.size(); ++i) {
      const WorstElement& w = j.worst[i];
      store_->add_worst->bind(run, name, i, w.index, w.expected, w.actual, w.bound, w.ratio, fault_name(w.fault)).run();
    }
  }
  for (const StageVerdict& stage : verdict.stages) {
    store_->add_stage
        ->bind(run, name, stage.name, stage.is_judged, stage.passed, stage.reason, stage.judgement.compared, stage.judgement.max_ratio)
        .run();
  }
  for (std::size_t i = 0; i < verdict.hazards.size(); ++i) {
    const metal::Hazard& h = verdict.hazards[i];
    store_->add_hazard
        ->bind(run, name, i, metal::to_string(h.kind), h.function, h.message, h.first.file, h.first.line,
               h.second ? h.second->file : std::string(), h.second ? h.second->line : 0U, h.count)
        .run();
  }
  transaction.commit();
}

void Ledger::finish(RunId run, const Summary& summary) {
  Statement update(store_->database, "UPDATE run SET finished = ?2, stopped = ?3, digest = ?4 WHERE id = ?1");
  update.bind(run, now(), summary.stopped, hex(summary.digest)).run();
}

void Ledger::keep(std::size_t count) {
  Statement forget(store_->database, "DELETE FROM run WHERE id NOT IN (SELECT id FROM run ORDER BY id DESC LIMIT ?)");
  forget.bind(count).run();
}

namespace {

constexpr std::string_view kRuns =
    "SELECT run.id, started, coalesce(finished, ''), command, replay_options, version, machine, suite_seed, run.schedule, selected,"
    " coalesce(stopped, 0), count(status), count(CASE WHEN status NOT IN ('passed', 'known', 'skipped') THEN 1 END), outside_limits"
    " FROM run LEFT JOIN verdict ON verdict.run = run.id ";

RunRecord run_from(const Statement& row) {
  RunRecord record;
  record.id = row.integer(0);
  record.started = row.text(1);
  record.finished = row.text(2);
  record.description = {row.text(3), row.text(4), row.text(5), row.text(6), row.text(8), row.word(7), row.word(9), row.word(13), {}};
  record.stopped = row.integer(10) != 0;
  record.verdicts = row.word(11);
  record.failures = row.word(12);
  return record;
}

void read_notes(Database& database, RunRecord& record) {
  Statement select(database, "SELECT text FROM note WHERE run = ? ORDER BY rank");
  select.bind(record.id);
  while (select.step()) record.description.notes.push_back(select.text(0));
}

}  // namespace

std::vector<RunRecord> Ledger::runs() const {
  std::vector<RunRecord> records;
  Statement select(store_->database, std::string(kRuns) + "GROUP BY run.id ORDER BY run.id");
  while (select.step()) records.push_back(run_from(select));
  for (RunRecord& record : records) read_notes(store_->database, record);
  return records;
}

RunRecord Ledger::run(RunId id) const {
  Statement select(store_->database, std::string(kRuns) + "WHERE run.id = ? GROUP BY run.id");
  select.bind(id);
  if (!select.step()) throw LedgerError(fmt::format("ledger {} has no run {}", file().string(), id));
  RunRecord record = run_from(select);
  read_notes(store_->database, record);
  return record;
}

std::vector<CaseRecord> Ledger::cases(RunId id) const {
  std::vector<CaseRecord> records;
  std::map<std::string, std::size_t> index;
  Statement select(store_->database,
                   "SELECT name, variant, family, fixture, seed, status, reason, schedules, row_length, compared, above_bound, not_written,"
                   " nans, infs, guard_violations, uninformative, distinct_expected, max_ratio, max_ratio_index, max_abs_error,"
                   " max_rel_error, nmse, cosine, median_bound_ratio, digest, oracle_seconds, simulator_seconds, note"
                   " FROM verdict WHERE run = ? ORDER BY ordinal");
  select.bind(id);
  while (select.step()) {
    CaseRecord record;
    int column = 0;
    record.name = select.text(column++);
    record.variant = select.text(column++);
    record.family = select.text(column++);
    record.fixture = select.text(column++);
    record.seed = select.word(column++);
    record.status = status_of(select.text(column++));
    record.reason = select.text(column++);
    record.schedules = select.text(column++);
    record.row_length = select.word(column++);
    Judgement& j = record.judgement;
    for (std::size_t* count :
         {&j.compared, &j.above_bound, &j.not_written, &j.nans, &j.infs, &j.guard_violations, &j.uninformative, &j.distinct_expected}) {
      *count = select.word(column++);
    }
    j.max_ratio = select.real(column++);
    j.max_ratio_index = select.word(column++);
    for (double* figure : {&j.max_abs_error, &j.max_rel_error, &j.nmse, &j.cosine, &j.median_bound_ratio}) *figure = select.real(column++);
    record.digest = from_hex(select.text(column++));
    record.oracle_seconds = select.real(column++);
    record.simulator_seconds = select.real(column++);
    record.note = select.text(column++);
    index.emplace(record.name, records.size());
    records.push_back(std::move(record));
  }

  Statement axes(store_->database, "SELECT name, key, value FROM verdict, json_each(axes) WHERE run = ? ORDER BY name, json_each.id");
  axes.bind(id);
  while (axes.step()) records[index.at(axes.text(0))].axes.emplace_back(axes.text(1), axes.integer(2));

  Statement worst(store_->database,
                  "SELECT name, element, expected, actual, bound, ratio, fault FROM worst WHERE run = ? ORDER BY name, rank");
  worst.bind(id);
  while (worst.step()) {
    records[index.at(worst.text(0))].judgement.worst.push_back(
        {worst.word(1), worst.real(2), worst.real(3), worst.real(4), worst.real(5), fault_of(worst.text(6))});
  }

  Statement stages(store_->database,
                   "SELECT name, stage, is_judged, passed, reason, compared, max_ratio FROM stage WHERE run = ? ORDER BY name, stage");
  stages.bind(id);
  while (stages.step()) {
    StageVerdict stage{stages.text(1), stages.integer(2) != 0, stages.integer(3) != 0, stages.text(4), {}};
    stage.judgement.compared = stages.word(5);
    stage.judgement.max_ratio = stages.real(6);
    records[index.at(stages.text(0))].stages.push_back(std::move(stage));
  }

  Statement hazards(store_->database,
                    "SELECT name, kind, function, message, file, line, second_file, second_line, count FROM hazard WHERE run = ?"
                    " ORDER BY name, rank");
  hazards.bind(id);
  while (hazards.step()) {
    metal::Hazard hazard;
    hazard.kind = hazard_kind_of(hazards.text(1));
    hazard.function = hazards.text(2);
    hazard.message = hazards.text(3);
    hazard.first.file = hazards.text(4);
    hazard.first.line = static_cast<std::uint32_t>(hazards.integer(5));
    if (hazards.integer(7) != 0) {
      hazard.second.emplace();
      hazard.second->file = hazards.text(6);
      hazard.second->line = static_cast<std::uint32_t>(hazards.integer(7));
    }
    hazard.count = hazards.word(8);
    records[index.at(hazards.text(0))].hazards.push_back(std::move(hazard));
  }
  return records;
}

const fs::path& Ledger::file() const { return store_->database.file(); }

void Recorder::started(const Case& about) {
  ledger_.started(run_, about);
  next_.started(about);
}

void Recorder::finished(const Verdict& verdict, const Summary& so_far) {
  ledger_.record(run_, verdict);
  next_.finished(verdict, so_far);
}

}  // namespace assay::harness
