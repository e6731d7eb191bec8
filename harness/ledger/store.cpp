// Opens the file of a ledger, checks it, and upgrades its schema.
#include "harness/ledger/store.h"

#include <fmt/format.h>

#include "harness/ledger/fault_rows.h"
#include "harness/ledger/schema.h"

namespace assay::harness {
namespace {

const auto kVersion = static_cast<std::int64_t>(ledger_versions().size());

struct Table {
  std::string_view name;
  std::int64_t since;  // first version that has the table
};
constexpr std::array<Table, 16> kTables = {{{"run", 1},
                                            {"verdict", 1},
                                            {"worst", 1},
                                            {"stage", 1},
                                            {"hazard", 1},
                                            {"note", 2},
                                            {"source", 3},
                                            {"cost", 3},
                                            {"fault", 4},
                                            {"fault_value", 4},
                                            {"replay_word", 4},
                                            {"finding", 6},
                                            {"finding_line", 6},
                                            {"finding_fit", 6},
                                            {"finding_suspect", 6},
                                            {"source_line", 7}}};

}  // namespace

void Ledger::Store::prepare_to_write() {
  database.execute("PRAGMA foreign_keys = ON; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
  make_or_advance_schema();
  start.emplace(database,
                "INSERT INTO verdict(run, name, ordinal, variant, family, fixture, seed, axes)"
                " VALUES(?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING");
  conclude.emplace(database,
                   "UPDATE verdict SET status = ?3, note = ?4, schedules = ?5, is_internal = ?6, row_length = ?7, compared = ?8,"
                   " above_bound = ?9, not_written = ?10, nans = ?11, infs = ?12, guard_violations = ?13, uninformative = ?14,"
                   " distinct_expected = ?15, max_ratio = ?16, max_ratio_index = ?17, max_abs_error = ?18, max_rel_error = ?19,"
                   " nmse = ?20, cosine = ?21, median_bound_ratio = ?22, digest = ?23, threadgroups = ?24, meeting_points = ?25,"
                   " collectives = ?26, divergent_collectives = ?27, matrix_multiplies = ?28, oracle_seconds = ?29,"
                   " simulator_seconds = ?30, known = ?31, rounding_ratio = ?32, logic_ratio = ?33 WHERE run = ?1 AND name = ?2");
  forget_faults.emplace(database, "DELETE FROM fault WHERE run = ? AND name = ?");
  add_fault.emplace(database, "INSERT INTO fault VALUES(?, ?, ?, ?, ?, ?)");
  add_fault_value.emplace(database, "INSERT INTO fault_value VALUES(?, ?, ?, ?, ?, ?)");
  add_worst.emplace(database, "INSERT OR REPLACE INTO worst VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)");
  add_stage.emplace(database, "INSERT OR REPLACE INTO stage VALUES(?, ?, ?, ?, ?, ?, ?, ?)");
  add_cost.emplace(database, "INSERT OR REPLACE INTO cost VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  add_hazard.emplace(database, "INSERT OR REPLACE INTO hazard VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  add_line.emplace(database, "INSERT OR REPLACE INTO source_line VALUES(?, ?, ?, ?, ?)");
  version_at_opening = pragma("data_version");
}

void Ledger::Store::record_faults(RunId run, const std::string& name, const std::string& stage, const std::vector<Fault>& faults) {
  for (std::size_t rank = 0; rank < faults.size(); ++rank) {
    add_fault->bind(run, name, stage, rank, name_of(faults[rank]), faults[rank].schedule).run();
    for (const auto& [key, value] : values_of(faults[rank]))
      std::visit([&](const auto& one) { add_fault_value->bind(run, name, stage, rank, key, one).run(); }, value);
  }
}

void Ledger::Store::prepare_to_read() {
  const std::int64_t version = checked_version();
  require_sound_pages();
  if (version < kVersion) database.execute(ledger_readings()[static_cast<std::size_t>(version - 1)]);
  database.execute("PRAGMA query_only = ON");
}

std::int64_t Ledger::Store::pragma(std::string_view name) {
  Statement statement(database, fmt::format("PRAGMA {}", name));
  return statement.step() ? statement.integer(0) : 0;
}

std::int64_t Ledger::Store::next_ordinal(RunId run) {
  const auto [found, is_new] = ordinals.try_emplace(run, 0);
  if (is_new) {
    Statement last(database, "SELECT coalesce(max(ordinal) + 1, 0) FROM verdict WHERE run = ?");
    last.bind(run).step();
    found->second = last.integer(0);
  }
  return found->second++;
}

std::int64_t Ledger::Store::checked_version() {
  const std::int64_t application = pragma("application_id");
  const std::int64_t version = pragma("user_version");
  if (application != kLedgerApplicationId) {
    throw LedgerError(fmt::format("{} is a SQLite database, but not a ledger of assay", database.file().string()));
  }
  if (version < 1 || version > kVersion) {
    throw LedgerError(
        fmt::format("ledger {} has schema version {}; this assay reads versions 1 to {}", database.file().string(), version, kVersion));
  }
  require_plain_tables(version);
  return version;
}

void Ledger::Store::require_plain_tables(std::int64_t version) {
  const auto refuse = [&](std::string_view table, std::string_view what) {
    throw LedgerError(fmt::format("ledger {} was not written by assay: '{}' {}", database.file().string(), table, what));
  };
  Statement kind(database, "SELECT type, rootpage FROM main.sqlite_schema WHERE name = ?");
  Statement computed(database, "SELECT name FROM pragma_table_xinfo(?, 'main') WHERE hidden <> 0");
  for (const Table& table : kTables) {
    if (table.since > version) continue;
    kind.bind(table.name);
    if (!kind.step()) refuse(table.name, "is missing");
    // A virtual table has no root page.
    if (kind.text(0) != "table" || kind.integer(1) == 0) refuse(table.name, "is not a table");
    kind.bind();
    computed.bind(table.name);
    if (computed.step()) refuse(table.name, "has a generated column");
    computed.bind();
  }
}

void Ledger::Store::require_sound_pages() {
  Statement check(database, "PRAGMA main.quick_check(1)");
  if (check.step() && check.text(0) != "ok")
    throw LedgerError(fmt::format("ledger {} is damaged: {}", database.file().string(), check.text(0)));
}

void Ledger::Store::make_or_advance_schema() {
  // In a transaction, because two processes may find the file empty at the same time.
  Transaction transaction(database);
  Statement tables(database, "SELECT count(*) FROM sqlite_schema");
  tables.step();
  const bool is_new = tables.integer(0) == 0 && pragma("application_id") == 0;
  // A statement that still reads the schema would block changes of it.
  tables.bind();
  const std::int64_t version = is_new ? 0 : checked_version();
  for (auto step = static_cast<std::size_t>(version); step < ledger_versions().size(); ++step) database.execute(ledger_versions()[step]);
  if (version != kVersion) {
    database.execute(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kLedgerApplicationId, kVersion));
  }
  transaction.commit();
}

}  // namespace assay::harness
