// Writes runs and verdicts into the ledger.
#include "harness/ledger/ledger.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <limits>
#include <sstream>

#include "harness/findings/fault_text.h"
#include "harness/ledger/store.h"

namespace assay::harness {
namespace {

namespace fs = std::filesystem;

std::string now() {
  const auto time = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(time));
}

std::string hex(std::uint64_t word) { return fmt::format("{:016x}", word); }

// A process. Its start time, in clock ticks since the machine started, distinguishes it from a later process with the same number.
struct Writer {
  std::string host;
  pid_t process = 0;
  std::string start;

  static Writer of(pid_t process) {
    std::array<char, 256> host{};
    gethostname(host.data(), host.size() - 1);
    std::ifstream file(fmt::format("/proc/{}/stat", process));
    std::string text;
    std::getline(file, text);
    // The name is in parentheses and may contain anything. Of the words after it, `start` is the twentieth.
    std::istringstream words(text.substr(std::min(text.rfind(')') + 1, text.size())));
    Writer writer{host.data(), process, ""};
    for (int i = 0; i < 20; ++i) words >> writer.start;
    if (!words) writer.start.clear();
    return writer;
  }
  static std::optional<Writer> parse(const std::string& text) {
    const std::size_t second = text.rfind('/');
    const std::size_t first = second == std::string::npos || second == 0 ? std::string::npos : text.rfind('/', second - 1);
    if (first == std::string::npos) return std::nullopt;
    Writer writer{text.substr(0, first), 0, text.substr(second + 1)};
    // If the text is not a number, the process stays unknown.
    std::from_chars(text.data() + first + 1, text.data() + second, writer.process);
    return writer;
  }
  [[nodiscard]] std::string to_string() const { return fmt::format("{}/{}/{}", host, process, start); }
  // Nothing is known about processes of another host.
  [[nodiscard]] bool is_running() const {
    const Writer now = of(process);
    return !start.empty() && now.host == host && now.start == start;
  }
};

// Names of axes are plain words that need no escaping.
std::string axes_of(const Case& test_case) {
  std::string json = "{";
  for (std::size_t i = 0; i < test_case.values.size(); ++i) {
    json += fmt::format("{}\"{}\":{}", i == 0 ? "" : ",", test_case.family->axes[i].name, test_case.values[i]);
  }
  return json + "}";
}

// A name quoted for SQL; it may contain any character.
std::string identifier(std::string_view name) {
  std::string result = "\"";
  for (const char c : name) result += c == '"' ? std::string("\"\"") : std::string(1, c);
  return result + '"';
}

std::string_view fault_name(ElementFault fault) {
  for (const auto& [known, name] : kFaults) {
    if (known == fault) return name;
  }
  return "";
}

}  // namespace

Ledger::Ledger(std::unique_ptr<Store> store) : store_(std::move(store)) {}
Ledger::Ledger(Ledger&&) noexcept = default;
Ledger& Ledger::operator=(Ledger&&) noexcept = default;
Ledger::~Ledger() = default;

Ledger Ledger::open(const fs::path& file) {
  std::error_code error;
  if (file.has_parent_path()) fs::create_directories(file.parent_path(), error);
  if (error) throw LedgerError(fmt::format("ledger {}: its folder cannot be created: {}", file.string(), error.message()));
  const auto kind = fs::symlink_status(file, error).type();
  if (kind != fs::file_type::not_found && kind != fs::file_type::regular)
    throw LedgerError(fmt::format("{} is {}, so it cannot be a ledger: name the file itself", file.string(),
                                  kind == fs::file_type::symlink ? "a link" : "not a regular file"));
  auto store = std::make_unique<Store>(file, Database::Mode::create);
  store->prepare_to_write();
  return Ledger(std::move(store));
}

Ledger Ledger::open_existing(const fs::path& file) {
  if (!fs::exists(file)) throw LedgerError(fmt::format("there is no ledger {}", file.string()));
  if (!fs::is_regular_file(file)) throw LedgerError(fmt::format("{} is not a regular file, so it cannot be a ledger", file.string()));
  if (fs::file_size(file) == 0) throw LedgerError(fmt::format("{} is empty, so it is not a ledger", file.string()));
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
  // The XDG specification requires relative paths to be ignored.
  if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && fs::path(state).is_absolute()) {
    return fs::path(state) / "assay" / "ledger.sqlite";
  }
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') throw LedgerError("neither XDG_STATE_HOME nor HOME is set, so the ledger has no place");
  return fs::path(home) / ".local" / "state" / "assay" / "ledger.sqlite";
}

RunId Ledger::begin(const RunDescription& description) {
  Transaction transaction(store_->database);
  Statement insert(store_->database,
                   "INSERT INTO run(started, command, replay_options, version, machine, suite_seed, schedule, selected, outside_limits,"
                   " policy, shard, selection, build, compiler, flags, toolchain, writer, weaker_accuracy)"
                   " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  const Environment& environment = description.environment;
  insert
      .bind(now(), description.command, "", description.version, description.machine, description.seed, description.schedule,
            description.selected, description.outside_limits, environment.policy, description.shard, description.selection,
            environment.build, environment.compiler, environment.flags, environment.toolchain, Writer::of(getpid()).to_string(),
            description.weaker_accuracy)
      .run();
  const RunId run = store_->database.last_row_id();
  Statement note(store_->database, "INSERT INTO note(run, rank, text) VALUES(?, ?, ?)");
  for (std::size_t i = 0; i < description.notes.size(); ++i) note.bind(run, i, description.notes[i]).run();
  Statement word(store_->database, "INSERT INTO replay_word(run, rank, word) VALUES(?, ?, ?)");
  for (std::size_t i = 0; i < description.replay_options.size(); ++i) word.bind(run, i, description.replay_options[i]).run();
  Statement source(store_->database, "INSERT INTO source(run, variant, file, digest) VALUES(?, ?, ?, ?)");
  for (const SourceRecord& record : environment.sources) source.bind(run, record.variant, record.file, record.digest).run();
  store_->seal(run);
  transaction.commit();
  return run;
}

void Ledger::take_up(RunId run) {
  Transaction transaction(store_->database);
  Statement select(store_->database, "SELECT coalesce(writer, '') FROM run WHERE id = ? AND finished IS NULL");
  select.bind(run);
  if (select.step()) {
    const std::optional<Writer> writer = Writer::parse(select.text(0));
    if (writer && writer->process != getpid() && writer->is_running())
      throw LedgerError(fmt::format("run {} of ledger {} is still running, in process {}", run, file().string(), writer->process));
  }
  select.bind(run);  // a statement that still reads the table would block the change
  Statement update(store_->database, "UPDATE run SET finished = NULL, stopped = NULL, digest = NULL, writer = ?2 WHERE id = ?1");
  update.bind(run, Writer::of(getpid()).to_string()).run();
  if (store_->database.changes() != 1) throw LedgerError(fmt::format("ledger {} has no run {}", file().string(), run));
  transaction.commit();
}

void Ledger::copy_cases(const Ledger& from, RunId source, RunId run) {
  Database& database = store_->database;
  Statement(database, "ATTACH ? AS other").bind(from.file().string()).run();
  database.expect(from.file());
  try {
    Transaction transaction(database);
    Statement twice(database,
                    "SELECT name FROM other.verdict AS theirs WHERE run = ?1 AND status IS NOT NULL AND EXISTS"
                    " (SELECT 1 FROM main.verdict AS ours WHERE ours.run = ?2 AND ours.name = theirs.name) LIMIT 1");
    twice.bind(source, run);
    if (twice.step())
      throw LedgerError(fmt::format("{} has a verdict in {} and also in another part", twice.text(0), from.file().string()));
    Statement is_there(database, "SELECT 1 FROM other.sqlite_schema WHERE name = ?");
    for (const std::string_view table : {"verdict", "worst", "stage", "hazard", "cost", "fault", "fault_value", "source_line"}) {
      is_there.bind(table);
      if (!is_there.step()) continue;  // absent from older versions
      is_there.bind();
      std::string names, values;
      Statement columns(database, "SELECT name FROM pragma_table_info(?, 'main')");
      columns.bind(table);
      while (columns.step()) {
        const std::string name = identifier(columns.text(0));
        names += (names.empty() ? "" : ", ") + name;
        const std::string value = name == "\"run\"" ? "?2" : name == "\"ordinal\"" ? "ordinal + ?3" : name == "\"seal\"" ? "NULL" : name;
        values += (values.empty() ? "" : ", ") + value;
      }
      Statement copy(database, fmt::format("INSERT INTO main.{0}({1}) SELECT {2} FROM other.{0} WHERE run = ?1 AND ?3 >= 0 AND name IN"
                                           " (SELECT name FROM other.verdict WHERE run = ?1 AND status IS NOT NULL)",
                                           table, names, values));
      copy.bind(source, run, store_->next_ordinal(run)).run();
    }
    store_->ordinals.erase(run);
    if (from.store_->is_sealed(source)) {
      Statement copied(database, "SELECT name FROM other.verdict WHERE run = ? AND status IS NOT NULL");
      copied.bind(source);
      while (copied.step()) {
        const std::string name = copied.text(0);
        if (from.store_->is_sealed(source, name)) store_->seal(run, name);
      }
    }
    store_->copy_findings(*from.store_, source, run);
    transaction.commit();
  } catch (...) {
    Statement(database, "DETACH other").run();
    throw;
  }
  Statement(database, "DETACH other").run();
}

void Ledger::started(RunId run, const Case& test_case) {
  store_->start
      ->bind(run, format_case(test_case), store_->next_ordinal(run), test_case.variant, test_case.family->name(), test_case.fixture,
             test_case.seed, axes_of(test_case))
      .run();
}

void Ledger::record(RunId run, const Verdict& verdict) {
  const std::string name = format_case(verdict.test_case);
  const Judgement& j = verdict.judgement;
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  Transaction transaction(store_->database);
  store_->conclude
      ->bind(run, name, to_string(verdict.status), text_of(verdict.notes), verdict.schedules, verdict.is_internal, verdict.row_length,
             j.compared, j.above_bound, j.not_written, j.nans, j.infs, j.guard_violations, j.uninformative, j.distinct_expected,
             j.max_ratio, j.max_ratio_index, j.max_abs_error, j.max_rel_error, j.nmse, j.cosine, j.median_bound_ratio, hex(verdict.digest),
             verdict.counters.threadgroups, verdict.counters.meeting_points, verdict.counters.collectives,
             verdict.counters.divergent_collectives, verdict.counters.matrix_multiplies, verdict.oracle_seconds, verdict.simulator_seconds,
             fmt::format("{}", fmt::join(verdict.known, "\n")), verdict.split ? verdict.split->max_rounding_ratio : kNone,
             verdict.split ? verdict.split->max_logic_ratio : kNone)
      .run();
  if (store_->database.changes() != 1) throw std::invalid_argument(fmt::format("{} was not recorded as started", name));
  // Of a case whose output is right, the element nearest to its bound tells how far all are from theirs.
  const bool is_right = is_success(verdict.status) && !is_expected_failure(verdict.status);
  for (std::size_t i = 0; i < (is_right ? std::min<std::size_t>(j.worst.size(), 1) : j.worst.size()); ++i) {
    const WorstElement& w = j.worst[i];
    store_->add_worst->bind(run, name, i, w.index, w.expected, w.actual, w.bound, w.ratio, fault_name(w.fault)).run();
  }
  store_->forget_faults->bind(run, name).run();
  store_->record_faults(run, name, {}, verdict.faults);
  for (const StageVerdict& stage : verdict.stages) {
    store_->record_faults(run, name, stage.name, stage.faults);
    store_->add_stage->bind(run, name, stage.name, stage.is_judged, stage.passed, "", stage.judgement.compared, stage.judgement.max_ratio)
        .run();
  }
  std::size_t rank = 0;
  for (const std::vector<metal::Hazard>* list : {&verdict.hazards, &verdict.remarks}) {
    for (const metal::Hazard& h : *list) {
      store_->add_hazard
          ->bind(run, name, rank++, metal::to_string(h.kind), h.function, h.message, h.first.file, h.lacks_line ? 0U : h.first.line,
                 h.second ? h.second->file : std::string(), h.second ? h.second->line : 0U, h.count)
          .run();
    }
  }
  if (const std::optional<metal::Cost>& c = verdict.cost) {
    store_->add_cost
        ->bind(run, name, c->device_bytes_read, c->device_bytes_written, c->distinct_device_bytes, c->threadgroup_accesses,
               c->simdgroup_calls, c->barriers, c->float_operations, c->half_operations, c->bfloat_operations)
        .run();
  }
  store_->record_lines(run, name, verdict);
  store_->seal(run, name);
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

Summary summary_of(std::size_t selected, std::span<const CaseRecord> cases) {
  Summary summary;
  summary.selected = selected;
  for (const CaseRecord& record : cases) {
    if (!record.status) continue;
    Verdict verdict;
    verdict.status = *record.status;
    verdict.judgement = record.judgement;
    verdict.known = record.known;
    verdict.is_internal = record.is_internal;
    verdict.stages = record.stages;
    verdict.digest = record.digest;
    verdict.oracle_seconds = record.oracle_seconds;
    verdict.simulator_seconds = record.simulator_seconds;
    summary.add(record.name, verdict);
  }
  summary.stopped = summary.finished() < selected;
  return summary;
}

const fs::path& Ledger::file() const { return store_->database.file(); }

void Recorder::started(const Case& test_case) {
  ledger_.started(run_, test_case);
  next_.started(test_case);
}

void Recorder::finished(const Verdict& verdict, const Summary& so_far) {
  ledger_.record(run_, verdict);
  next_.finished(verdict, so_far);
}

}  // namespace assay::harness
