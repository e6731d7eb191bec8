// Seals runs and verdicts with the user's key, and says what a run's verdicts lack to be believed.
#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/user_key.h"
#include "harness/ledger/store.h"

namespace assay::harness {
namespace {

struct Rows {
  std::string_view table, order;
};
constexpr std::array<Rows, 4> kRowsOfRun = {{{"run", ""}, {"note", "rank"}, {"replay_word", "rank"}, {"source", "variant"}}};
constexpr std::array<Rows, 8> kRowsOfCase = {{{"verdict", ""},
                                              {"worst", "rank"},
                                              {"stage", "stage"},
                                              {"hazard", "rank"},
                                              {"cost", ""},
                                              {"fault", "stage, rank"},
                                              {"fault_value", "stage, rank, key"},
                                              {"source_line", "file, line"}}};

constexpr std::array<Rows, 4> kRowsOfFinding = {
    {{"finding", ""}, {"finding_line", "part, place"}, {"finding_fit", "place"}, {"finding_suspect", "place"}}};

// Columns that change after sealing, or say where a row stands and not what it says. A run that is merged gets seals of its own.
bool is_sealed_column(std::string_view table, std::string_view column) {
  if (column == "seal") return false;
  if (table == "run") return column != "id" && column != "finished" && column != "stopped" && column != "digest" && column != "writer";
  return column != "run" && column != "ordinal";
}

// Why the figures of a verdict cannot be those of its status; empty if they can.
std::string contradiction_in(const CaseRecord& record) {
  const Judgement& j = record.judgement;
  const std::size_t wrong = j.above_bound + j.not_written + j.nans + j.infs + j.guard_violations;
  if (!record.name.starts_with(record.variant + "/")) return "is not a case of its variant";
  if (j.above_bound > j.compared) return "has more elements above their bounds than it compared";
  if (*record.status == Status::passed) {
    if (!record.faults.empty() || !record.hazards.empty()) return "passed, but has faults";
    if (wrong != 0 || !(j.max_ratio <= 1)) return "passed, but has wrong elements";
    if (j.compared == 0) return "passed, but compared nothing";
    return {};
  }
  if (record.faults.empty()) return fmt::format("is '{}', but has no fault", to_string(*record.status));
  if (*record.status == Status::known && record.known.empty()) return "is 'known', but names no known finding";
  if (*record.status == Status::not_required && beyond_of(record.name).empty()) return "is 'not required', but the contract covers it";
  return {};
}

}  // namespace

void Ledger::Store::add_rows(base::Hash& hash, std::string_view table, Statement& rows) {
  while (rows.step()) {
    hash.add(table);
    for (int column = 0; column < rows.columns(); ++column) {
      const std::string of = rows.column(column);
      // A column that a later version added is NULL.
      if (rows.is_null(column) || !is_sealed_column(table, of)) continue;
      hash.add(of);
      if (rows.is_integer(column)) {
        hash.add("integer").add(fmt::format("{}", rows.integer(column)));
      } else if (rows.is_text(column)) {
        hash.add("text").add(rows.text(column));
      } else {
        hash.add("real").add(fmt::format("{:x}", std::bit_cast<std::uint64_t>(rows.real(column))));
      }
    }
  }
}

std::string Ledger::Store::seal_of(RunId run) {
  base::Hash hash = base::user_seal("run of a ledger");
  for (const auto& [table, order] : kRowsOfRun) {
    prepared_.try_emplace(
        table, database,
        fmt::format("SELECT * FROM {} WHERE {} = ?{}{}", table, table == "run" ? "id" : "run", order.empty() ? "" : " ORDER BY ", order));
    add_rows(hash, table, prepared_.at(table).bind(run));
  }
  return hash.hex();
}

std::string Ledger::Store::seal_of(RunId run, const std::string& name) {
  base::Hash hash = base::user_seal("verdict of a ledger");
  hash.add(text("SELECT seal FROM run WHERE id = ?", run, nullptr));
  for (const auto& [table, order] : kRowsOfCase) {
    prepared_.try_emplace(table, database,
                          fmt::format("SELECT * FROM {} WHERE run = ? AND name = ?{}{}", table, order.empty() ? "" : " ORDER BY ", order));
    add_rows(hash, table, prepared_.at(table).bind(run, name));
  }
  return hash.hex();
}

std::string Ledger::Store::seal_of_finding(RunId run, std::int64_t rank) {
  base::Hash hash = base::user_seal("finding of a ledger");
  hash.add(text("SELECT seal FROM run WHERE id = ?", run, nullptr));
  for (const auto& [table, order] : kRowsOfFinding) {
    prepared_.try_emplace(table, database,
                          fmt::format("SELECT * FROM {} WHERE run = ? AND rank = ?{}{}", table, order.empty() ? "" : " ORDER BY ", order));
    add_rows(hash, table, prepared_.at(table).bind(run, rank));
  }
  return hash.hex();
}

std::string Ledger::Store::text(std::string_view sql, RunId run, const std::string* name) {
  Statement& select = prepared_.try_emplace(sql, database, sql).first->second;
  name == nullptr ? select.bind(run) : select.bind(run, *name);
  std::string text = select.step() ? select.text(0) : std::string();
  while (select.step()) {  // what still reads the table would hold up changes
  }
  return text;
}

void Ledger::Store::seal(RunId run) { Statement(database, "UPDATE run SET seal = ?2 WHERE id = ?1").bind(run, seal_of(run)).run(); }

void Ledger::Store::seal(RunId run, const std::string& name) {
  Statement(database, "UPDATE verdict SET seal = ?3 WHERE run = ?1 AND name = ?2").bind(run, name, seal_of(run, name)).run();
}

void Ledger::Store::seal_finding(RunId run, std::int64_t rank) {
  Statement(database, "UPDATE finding SET seal = ?3 WHERE run = ?1 AND rank = ?2").bind(run, rank, seal_of_finding(run, rank)).run();
}

std::vector<std::int64_t> Ledger::Store::unsealed_findings(RunId run) {
  std::vector<std::pair<std::int64_t, std::string>> found;
  Statement select(database, "SELECT rank, coalesce(seal, '') FROM finding WHERE run = ? ORDER BY rank");
  select.bind(run);
  while (select.step()) found.emplace_back(select.integer(0), select.text(1));
  std::vector<std::int64_t> unsealed;
  for (const auto& [rank, seal] : found) {
    if (seal != seal_of_finding(run, rank)) unsealed.push_back(rank);
  }
  return unsealed;
}

bool Ledger::Store::is_sealed(RunId run) { return text("SELECT seal FROM run WHERE id = ?", run, nullptr) == seal_of(run); }

bool Ledger::Store::is_sealed(RunId run, const std::string& name) {
  return text("SELECT seal FROM verdict WHERE run = ? AND name = ?", run, &name) == seal_of(run, name);
}

std::string Ledger::doubt_about(RunId id) const {
  Store& store = *store_;
  constexpr std::string_view kWhy = "it was changed, or another user or an older assay recorded it";
  if (!store.is_sealed(id)) return fmt::format("the description of run {} is not sealed with your key: {}", id, kWhy);
  for (const CaseRecord& record : cases(id)) {
    if (!record.status) continue;
    if (!store.is_sealed(id, record.name)) return fmt::format("the verdict on {} is not sealed with your key: {}", record.name, kWhy);
    if (const std::string what = contradiction_in(record); !what.empty())
      return fmt::format("the verdict on {} contradicts itself: it {}", record.name, what);
  }
  if (const std::vector<std::int64_t> unsealed = store.unsealed_findings(id); !unsealed.empty())
    return fmt::format("finding {} of triage is not sealed with your key: {}", unsealed.front() + 1, kWhy);
  return {};
}

std::string Ledger::damage_since_opening(RunId id, std::size_t verdicts) const {
  Store& store = *store_;
  if (store.database.was_moved()) return "the file was deleted, moved or replaced";
  if (store.pragma("data_version") == store.version_at_opening) return {};
  // Another run may have been recorded in the same file.
  Statement count(store.database, "SELECT count(*) FROM verdict WHERE run = ? AND status IS NOT NULL");
  count.bind(id).step();
  if (count.word(0) != verdicts) return fmt::format("it has {} verdicts of run {}, which has {}", count.word(0), id, verdicts);
  return doubt_about(id);
}

}  // namespace assay::harness
