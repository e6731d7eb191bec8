// Reads runs and cases from a ledger, and validates them.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>

#include "base/text.h"
#include "harness/ledger/fault_rows.h"
#include "harness/ledger/shell_line.h"
#include "harness/ledger/store.h"

namespace assay::harness {
namespace {

// More rows than any run has. Queries over these rows scan them several times.
constexpr std::size_t kMostListed = 10'000;
constexpr std::size_t kMostAxesOfCase = 64;  // per case

std::uint64_t from_hex(const std::string& text) {
  std::uint64_t word = 0;
  std::from_chars(text.data(), text.data() + text.size(), word, 16);
  return word;
}

ElementFault fault_of(std::string_view name) {
  for (const auto& [fault, known] : kFaults) {
    if (known == name) return fault;
  }
  return ElementFault::none;
}

// The place of a row, for error messages.
struct Place {
  const Database& database;
  RunId run = 0;
  std::string name = {};  // of the case; empty: the whole run

  [[noreturn]] void refuse(std::string_view what) const {
    throw LedgerError(fmt::format("ledger {} is damaged: run {}{} {}", database.file().string(), run,
                                  name.empty() ? std::string() : fmt::format(", case '{}',", name), what));
  }
};

// NULL, the value before there is a verdict, is 0.
std::uint64_t count_of(const Statement& row, int column, const Place& place) {
  const std::int64_t count = row.integer(column);
  if (count < 0) place.refuse(fmt::format("has {} for '{}', which must not be negative", count, row.column(column)));
  return static_cast<std::uint64_t>(count);
}

// NULL before there is a verdict.
std::optional<Status> status_of(const Statement& row, int column, const Place& place) {
  if (row.is_null(column)) return std::nullopt;
  const std::string name = row.text(column);
  for (int i = 0; i <= static_cast<int>(Status::not_required); ++i) {
    if (to_string(static_cast<Status>(i)) == name) return static_cast<Status>(i);
  }
  place.refuse(fmt::format("has the unknown status '{}'", name));
}

metal::HazardKind hazard_kind_of(const std::string& name) {
  for (int i = 0; i <= static_cast<int>(metal::kLastHazardKind); ++i) {
    if (metal::to_string(static_cast<metal::HazardKind>(i)) == name) return static_cast<metal::HazardKind>(i);
  }
  return metal::HazardKind{};
}

FaultValue value_in(const Statement& row, int column) {
  if (row.is_integer(column)) return row.integer(column);
  if (row.is_text(column)) return row.text(column);
  return row.real(column);
}

constexpr std::string_view kRuns =
    "SELECT run.id, started, coalesce(finished, ''), command, replay_options, version, machine, suite_seed, run.schedule, selected,"
    " coalesce(stopped, 0), count(status), count(CASE WHEN status NOT IN ('passed', 'known', 'skipped', 'not required') THEN 1 END), "
    "outside_limits,"
    " coalesce(run.digest, ''), coalesce(shard, ''), coalesce(selection, ''), coalesce(policy, ''), coalesce(build, ''),"
    " coalesce(compiler, ''), coalesce(flags, ''), coalesce(toolchain, ''), weaker_accuracy"
    " FROM run LEFT JOIN verdict ON verdict.run = run.id ";

RunRecord run_from(const Database& database, const Statement& row) {
  RunRecord record;
  record.id = row.integer(0);
  const Place place{database, record.id};
  record.started = row.text(1);
  record.finished = row.text(2);
  record.description = {row.text(3), words_of_shell_line(row.text(4)), row.text(5), row.text(6), row.text(8), row.word(7)};
  record.description.selected = count_of(row, 9, place);
  record.description.outside_limits = count_of(row, 13, place);
  record.description.weaker_accuracy = count_of(row, 22, place);
  record.stopped = row.integer(10) != 0;
  record.verdicts = row.word(11);
  record.failures = row.word(12);
  record.digest = row.text(14);
  record.description.shard = row.text(15);
  record.description.selection = row.text(16);
  Environment& environment = record.description.environment;
  environment = {row.text(17), row.text(18), row.text(19), row.text(20), row.text(21), {}};
  return record;
}

template <typename Take>
void for_each_row(Database& database, RunId run, std::string_view sql, const Take& take) {
  Statement select(database, sql);
  select.bind(run);
  while (select.step()) take(select);
}

void read_lists(Database& database, RunRecord& record) {
  const auto require_few = [&](std::size_t count, std::string_view what) {
    if (count > kMostListed)
      throw LedgerError(fmt::format("ledger {}: run {} has more than {} {}", database.file().string(), record.id, kMostListed, what));
  };
  RunDescription& test_case = record.description;
  for_each_row(database, record.id, "SELECT text FROM note WHERE run = ? ORDER BY rank", [&](const Statement& row) {
    test_case.notes.push_back(row.text(0));
    require_few(test_case.notes.size(), "notes");
  });
  for_each_row(database, record.id, "SELECT word FROM replay_word WHERE run = ? ORDER BY rank", [&](const Statement& row) {
    test_case.replay_options.push_back(row.text(0));
    require_few(test_case.replay_options.size(), "options");
  });
  for_each_row(database, record.id, "SELECT variant, file, digest FROM source WHERE run = ? ORDER BY variant", [&](const Statement& row) {
    test_case.environment.sources.push_back({row.text(0), row.text(1), row.text(2)});
    require_few(test_case.environment.sources.size(), "sources");
  });
}

}  // namespace

std::vector<RunRecord> Ledger::runs() const {
  std::vector<RunRecord> records;
  Statement select(store_->database, std::string(kRuns) + "GROUP BY run.id ORDER BY run.id");
  while (select.step()) records.push_back(run_from(store_->database, select));
  for (RunRecord& record : records) read_lists(store_->database, record);
  return records;
}

RunRecord Ledger::run(RunId id) const {
  Statement select(store_->database, std::string(kRuns) + "WHERE run.id = ? GROUP BY run.id");
  select.bind(id);
  if (!select.step()) throw LedgerError(fmt::format("ledger {} has no run {}", file().string(), id));
  RunRecord record = run_from(store_->database, select);
  read_lists(store_->database, record);
  record.findings = findings(id);
  return record;
}

std::vector<CaseOutcome> Ledger::outcomes(RunId id) const {
  std::vector<CaseOutcome> outcomes;
  for_each_row(store_->database, id, "SELECT name, status, max_ratio, digest FROM verdict WHERE run = ? ORDER BY ordinal",
               [&](const Statement& row) {
                 const std::string name = row.text(0);
                 outcomes.push_back({name, status_of(row, 1, {store_->database, id, name}), row.real(2), from_hex(row.text(3))});
               });
  return outcomes;
}

// Long because it reads the tables of a case one after the other, column by column.
std::vector<CaseRecord> Ledger::cases(RunId id) const {
  std::vector<CaseRecord> records;
  std::map<std::string, std::size_t> index;
  Statement select(
      store_->database,
      "SELECT name, variant, family, fixture, seed, status, reason, schedules, row_length, compared, above_bound, not_written,"
      " nans, infs, guard_violations, uninformative, distinct_expected, max_ratio, max_ratio_index, max_abs_error,"
      " max_rel_error, nmse, cosine, median_bound_ratio, digest, oracle_seconds, simulator_seconds, note, is_internal, threadgroups,"
      " meeting_points, collectives, divergent_collectives, matrix_multiplies, known, rounding_ratio, logic_ratio"
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
    const Place place{store_->database, id, record.name};
    record.status = status_of(select, column++, place);
    if (std::string told = select.text(column++); !told.empty()) record.faults.emplace_back(fault::Told{std::move(told)});
    record.schedules = select.text(column++);
    // Used to show elements by row and coordinate. NULL before there is a verdict.
    record.row_length = std::max<std::size_t>(count_of(select, column++, place), 1);
    Judgement& j = record.judgement;
    for (std::size_t* count :
         {&j.compared, &j.above_bound, &j.not_written, &j.nans, &j.infs, &j.guard_violations, &j.uninformative, &j.distinct_expected}) {
      *count = count_of(select, column++, place);
    }
    j.max_ratio = select.real(column++);
    j.max_ratio_index = count_of(select, column++, place);
    for (double* figure : {&j.max_abs_error, &j.max_rel_error, &j.nmse, &j.cosine, &j.median_bound_ratio}) *figure = select.real(column++);
    record.digest = from_hex(select.text(column++));
    record.oracle_seconds = select.real(column++);
    record.simulator_seconds = select.real(column++);
    if (std::string text = select.text(column++); !text.empty()) record.notes.emplace_back(note::Recorded{std::move(text)});
    record.is_internal = select.integer(column++) != 0;
    metal::ExecutionCounters& counters = record.counters;
    for (std::uint64_t* count : {&counters.threadgroups, &counters.meeting_points, &counters.collectives, &counters.divergent_collectives,
                                 &counters.matrix_multiplies}) {
      *count = count_of(select, column++, place);
    }
    const std::string known = select.text(column++);
    for (const std::string_view finding : base::lines_of(known)) record.known.emplace_back(finding);
    record.rounding_ratio = select.real(column++);
    record.logic_ratio = select.real(column++);
    index.emplace(record.name, records.size());
    records.push_back(std::move(record));
  }

  // Assay never writes a row about a case that the run does not have.
  const auto record_of = [&](const std::string& name, std::string_view table) -> CaseRecord& {
    const auto found = index.find(name);
    if (found == index.end())
      throw LedgerError(
          fmt::format("ledger {} is damaged: '{}' refers to the case '{}', which run {} does not have", file().string(), table, name, id));
    return records[found->second];
  };

  Statement broken(store_->database, "SELECT name FROM verdict WHERE run = ? AND NOT json_valid(axes) LIMIT 1");
  broken.bind(id);
  if (broken.step()) Place{store_->database, id, broken.text(0)}.refuse("has axes that are not valid JSON");
  for_each_row(store_->database, id,
               "SELECT name, key, value, json_each.type FROM verdict, json_each(axes) WHERE run = ? ORDER BY name, json_each.id",
               [&](const Statement& axes) {
                 CaseRecord& record = record_of(axes.text(0), "verdict");
                 if (axes.text(3) != "integer")
                   Place{store_->database, id, record.name}.refuse(fmt::format("has an axis '{}' that is not an integer", axes.text(1)));
                 record.axes.emplace_back(axes.text(1), axes.integer(2));
                 if (record.axes.size() > kMostAxesOfCase)
                   throw LedgerError(
                       fmt::format("ledger {} is damaged: case '{}' has more than {} axes", file().string(), record.name, kMostAxesOfCase));
               });

  for_each_row(store_->database, id,
               "SELECT name, element, expected, actual, bound, ratio, fault FROM worst WHERE run = ? ORDER BY name, rank",
               [&](const Statement& worst) {
                 CaseRecord& record = record_of(worst.text(0), "worst");
                 record.judgement.worst.push_back({count_of(worst, 1, {store_->database, id, record.name}), worst.real(2), worst.real(3),
                                                   worst.real(4), worst.real(5), fault_of(worst.text(6))});
               });

  for_each_row(store_->database, id, "SELECT name, file, line, text FROM source_line WHERE run = ? ORDER BY name, file, line",
               [&](const Statement& line) {
                 std::vector<SourceLine>& lines = record_of(line.text(0), "source_line").lines;
                 lines.push_back({line.text(1), static_cast<std::uint32_t>(line.integer(2)), line.text(3)});
                 if (lines.size() > kMostListed)
                   throw LedgerError(fmt::format("ledger {} is damaged: case '{}' has more than {} lines of sources", file().string(),
                                                 line.text(0), kMostListed));
               });

  for_each_row(store_->database, id,
               "SELECT name, stage, is_judged, passed, reason, compared, max_ratio FROM stage WHERE run = ? ORDER BY name, stage",
               [&](const Statement& stages) {
                 StageVerdict stage{stages.text(1), stages.integer(2) != 0, stages.integer(3) != 0, {}, {}};
                 if (std::string told = stages.text(4); !told.empty()) stage.faults.emplace_back(fault::Told{std::move(told)});
                 stage.judgement.compared = count_of(stages, 5, {store_->database, id, stages.text(0)});
                 stage.judgement.max_ratio = stages.real(6);
                 record_of(stages.text(0), "stage").stages.push_back(std::move(stage));
               });

  Statement faults(store_->database,
                   "SELECT name, stage, rank, kind, schedule, key, value FROM fault LEFT JOIN fault_value USING(run, name, stage, rank)"
                   " WHERE run = ? ORDER BY name, stage, rank");
  faults.bind(id);
  for (bool is_row = faults.step(); is_row;) {
    const std::string name = faults.text(0), stage = faults.text(1), kind = faults.text(3), schedule = faults.text(4);
    const std::int64_t rank = faults.integer(2);
    CaseRecord& record = record_of(name, "fault");
    const Place place{store_->database, id, name};
    FaultValues values;
    for (; is_row && faults.text(0) == name && faults.text(1) == stage && faults.integer(2) == rank; is_row = faults.step()) {
      if (!faults.is_null(5)) values.emplace(faults.text(5), value_in(faults, 6));
      if (values.size() > kMostListed) place.refuse(fmt::format("has a fault '{}' with more than {} values", kind, kMostListed));
    }
    std::vector<Fault>* of = &record.faults;
    if (!stage.empty()) {
      const auto found = std::ranges::find(record.stages, stage, &StageVerdict::name);
      if (found == record.stages.end()) place.refuse(fmt::format("has a fault of the stage '{}', which it does not have", stage));
      of = &found->faults;
    }
    try {
      of->push_back(fault_from(kind, schedule, values));
    } catch (const std::invalid_argument& damage) {
      place.refuse(fmt::format("has a fault '{}' with {}", kind, damage.what()));
    }
    if (of->size() > kMostListed) place.refuse(fmt::format("has more than {} faults", kMostListed));
  }

  for_each_row(store_->database, id, "SELECT * FROM cost WHERE run = ?", [&](const Statement& cost) {
    const auto figure = [&](int column) { return count_of(cost, column + 2, {store_->database, id, cost.text(1)}); };
    record_of(cost.text(1), "cost").cost = {figure(0), figure(1), figure(2), figure(3), figure(4),
                                            figure(5), figure(6), figure(7), figure(8)};
  });

  for_each_row(store_->database, id,
               "SELECT name, kind, function, message, file, line, second_file, second_line, count FROM hazard WHERE run = ?"
               " ORDER BY name, rank",
               [&](const Statement& hazards) {
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
                 hazard.count = count_of(hazards, 8, {store_->database, id, hazards.text(0)});
                 CaseRecord& record = record_of(hazards.text(0), "hazard");
                 (metal::is_defect(hazard.kind) ? record.hazards : record.remarks).push_back(std::move(hazard));
               });
  return records;
}

}  // namespace assay::harness
