// Writes and reads the findings of triage.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <stdexcept>
#include <utility>

#include "harness/ledger/store.h"

namespace assay::harness {
namespace {

// More than any triage makes or shows.
constexpr std::size_t kMostFindings = 1000;
constexpr std::size_t kMostLines = 100'000;

struct Part {
  std::string_view name;
  std::vector<std::string> FindingRecord::* lines;
};
constexpr std::array<Part, 6> kParts = {{{"case", &FindingRecord::cases},
                                         {"evidence", &FindingRecord::evidence},
                                         {"where", &FindingRecord::where},
                                         {"where_given", &FindingRecord::where_given},
                                         {"hazard", &FindingRecord::hazards},
                                         {"near", &FindingRecord::near}}};
constexpr std::array<std::string_view, 4> kFindingTables = {"finding", "finding_line", "finding_fit", "finding_suspect"};

std::set<std::string> cases_of(Database& database, RunId run) {
  std::set<std::string> names;
  Statement select(database, "SELECT name FROM verdict WHERE run = ?");
  select.bind(run);
  while (select.step()) names.insert(select.text(0));
  return names;
}

// Reads the findings of a run, and refuses what assay never writes.
class RowReader {
 public:
  RowReader(Database& database, RunId run) : database_(database), run_(run) {}

  std::vector<FindingRecord> read() {
    read_heads();
    if (findings_.empty()) return {};
    read_lines();
    rows("finding_fit", "place, class, says, explained, exact, unaffected", [](FindingRecord& finding, const Statement& row) {
      finding.fits.push_back({row.text(2), row.text(3), row.real(4), row.real(5), row.real(6)});
    });
    rows("finding_suspect", "place, file, line, why, excerpt", [&](FindingRecord& finding, const Statement& row) {
      finding.suspects.push_back(
          {row.text(2), static_cast<std::uint32_t>(std::min<std::uint64_t>(count(row, 3), ~std::uint32_t{0})), row.text(4), row.text(5)});
    });
    return std::move(findings_);
  }

 private:
  [[noreturn]] void refuse(std::string_view what) const {
    throw LedgerError(fmt::format("ledger {} is damaged: run {} {}", database_.file().string(), run_, what));
  }
  [[nodiscard]] std::uint64_t count(const Statement& row, int column) const {
    if (row.integer(column) < 0) refuse(fmt::format("has a finding with {} for '{}'", row.integer(column), row.column(column)));
    return row.word(column);
  }

  void read_heads() {
    Statement select(database_,
                     "SELECT rank, variant, class, says, smallest, status, reason, replay, given, tried, failing, diff FROM finding"
                     " WHERE run = ? ORDER BY rank");
    select.bind(run_);
    while (select.step()) {
      FindingRecord& finding = findings_.emplace_back();
      ranks_.push_back(select.integer(0));
      int column = 1;
      for (std::string FindingRecord::* text :
           {&FindingRecord::variant, &FindingRecord::kind, &FindingRecord::says, &FindingRecord::smallest, &FindingRecord::status,
            &FindingRecord::reason, &FindingRecord::replay, &FindingRecord::given})
        finding.*text = select.text(column++);
      finding.tried = count(select, column++);
      finding.failing = count(select, column++);
      finding.diff = select.text(column);
      if (findings_.size() > kMostFindings) refuse(fmt::format("has more than {} findings", kMostFindings));
    }
  }

  void read_lines() {
    const std::set<std::string> names = cases_of(database_, run_);
    rows("finding_line", "part, place, text", [&](FindingRecord& finding, const Statement& row) {
      const std::string name = row.text(1);
      const auto* part = std::ranges::find(kParts, name, &Part::name);
      if (part == kParts.end()) refuse(fmt::format("has a finding with the unknown part '{}'", name));
      if (part->lines == &FindingRecord::cases && !names.contains(row.text(3)))
        refuse(fmt::format("has a finding that refers to the case '{}', which the run does not have", row.text(3)));
      (finding.*part->lines).push_back(row.text(3));
    });
  }

  // Calls take(finding, row) for the rows of a table. Column 0 of a row is the rank.
  template <typename Take>
  void rows(std::string_view table, std::string_view columns, const Take& take) {
    Statement select(database_, fmt::format("SELECT rank, {0} FROM {1} WHERE run = ? ORDER BY rank, {2}place", columns, table,
                                            table == "finding_line" ? "part, " : ""));
    select.bind(run_);
    std::size_t rows = 0;
    while (select.step()) {
      const auto found = std::ranges::lower_bound(ranks_, select.integer(0));
      if (found == ranks_.end() || *found != select.integer(0))
        refuse(fmt::format("has no finding {}, to which '{}' refers", select.integer(0), table));
      if (++rows > kMostLines) refuse(fmt::format("has more than {} rows of '{}'", kMostLines, table));
      take(findings_[static_cast<std::size_t>(found - ranks_.begin())], select);
    }
  }

  Database& database_;
  RunId run_;
  std::vector<std::int64_t> ranks_;  // ascending
  std::vector<FindingRecord> findings_;
};

}  // namespace

void Ledger::record_findings(RunId run, std::span<const FindingRecord> findings) {
  Database& database = store_->database;
  Transaction transaction(database);
  const std::set<std::string> names = cases_of(database, run);
  Statement(database, "DELETE FROM finding WHERE run = ?").bind(run).run();
  Statement head(database, "INSERT INTO finding VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)");
  Statement line(database, "INSERT INTO finding_line VALUES(?, ?, ?, ?, ?)");
  Statement fit(database, "INSERT INTO finding_fit VALUES(?, ?, ?, ?, ?, ?, ?, ?)");
  Statement suspect(database, "INSERT INTO finding_suspect VALUES(?, ?, ?, ?, ?, ?, ?)");
  for (std::size_t rank = 0; rank < findings.size(); ++rank) {
    const FindingRecord& it = findings[rank];
    for (const std::string& name : it.cases) {
      if (!names.contains(name)) throw std::invalid_argument(fmt::format("{} is a case of a finding, and not of the run", name));
    }
    head.bind(run, rank, it.variant, it.kind, it.says, it.smallest, it.status, it.reason, it.replay, it.given, it.tried, it.failing,
              it.diff)
        .run();
    for (const Part& part : kParts) {
      const std::vector<std::string>& lines = it.*part.lines;
      for (std::size_t i = 0; i < lines.size(); ++i) line.bind(run, rank, part.name, i, lines[i]).run();
    }
    for (std::size_t i = 0; i < it.fits.size(); ++i)
      fit.bind(run, rank, i, it.fits[i].kind, it.fits[i].says, it.fits[i].explained, it.fits[i].exact, it.fits[i].unaffected).run();
    for (std::size_t i = 0; i < it.suspects.size(); ++i)
      suspect.bind(run, rank, i, it.suspects[i].file, it.suspects[i].line, it.suspects[i].why, it.suspects[i].excerpt).run();
    store_->seal_finding(run, static_cast<std::int64_t>(rank));
  }
  transaction.commit();
}

std::vector<FindingRecord> Ledger::findings(RunId id) const { return RowReader(store_->database, id).read(); }

void Ledger::Store::copy_findings(Store& from, RunId source, RunId run) {
  Statement is_there(database, "SELECT 1 FROM other.sqlite_schema WHERE name = 'finding'");
  if (!is_there.step()) return;  // absent from older versions
  is_there.bind();
  const std::vector<std::int64_t> unsealed = from.unsealed_findings(source);
  const bool is_run_sealed = from.is_sealed(source);
  Statement last(database, "SELECT coalesce(max(rank) + 1, 0) FROM main.finding WHERE run = ?");
  last.bind(run).step();
  const std::int64_t first = last.integer(0);
  last.bind();
  for (const std::string_view table : kFindingTables) {
    std::string names, values;
    Statement columns(database, "SELECT name FROM pragma_table_info(?, 'main')");
    columns.bind(table);
    while (columns.step()) {
      const std::string name = columns.text(0);
      names += (names.empty() ? "" : ", ") + name;
      values += (values.empty() ? "" : ", ") + (name == "run" ? "?2" : name == "rank" ? "rank + ?3" : name == "seal" ? "NULL" : name);
    }
    Statement(database, fmt::format("INSERT INTO main.{0}({1}) SELECT {2} FROM other.{0} WHERE run = ?1", table, names, values))
        .bind(source, run, first)
        .run();
  }
  if (!is_run_sealed) return;
  Statement copied(database, "SELECT rank FROM other.finding WHERE run = ?");
  copied.bind(source);
  while (copied.step()) {
    if (std::ranges::find(unsealed, copied.integer(0)) == unsealed.end()) seal_finding(run, copied.integer(0) + first);
  }
}

}  // namespace assay::harness
