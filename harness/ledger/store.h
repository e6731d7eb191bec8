// The private data of a Ledger: the open database, and the statements of running runs. Internal to harness/ledger/.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "harness/ledger/ledger.h"
#include "harness/ledger/sqlite.h"

namespace assay::harness {

// The names of faults in the table `worst`.
inline constexpr std::array<std::pair<ElementFault, std::string_view>, 5> kFaults = {{{ElementFault::none, ""},
                                                                                      {ElementFault::above_bound, "above bound"},
                                                                                      {ElementFault::not_written, "never written"},
                                                                                      {ElementFault::nan, "nan"},
                                                                                      {ElementFault::infinite, "infinite"}}};

struct Ledger::Store {
  Store(const std::filesystem::path& file, Database::Mode mode) : database(file, mode) {}

  // Creates or upgrades the schema. Throws LedgerError like Ledger::open().
  void prepare_to_write();
  void prepare_to_read();

  // The number of the next case of a run, in the order of starting. Only one process writes a run.
  std::int64_t next_ordinal(RunId run);

  // Seals are keyed hashes of all that the ledger holds of a run's description, or of a case, whose seal includes that of its run.
  [[nodiscard]] std::string seal_of(RunId run);
  [[nodiscard]] std::string seal_of(RunId run, const std::string& name);
  void seal(RunId run);
  void seal(RunId run, const std::string& name);
  // Whether the seal that the ledger holds is the one that this user would give.
  [[nodiscard]] bool is_sealed(RunId run);
  [[nodiscard]] bool is_sealed(RunId run, const std::string& name);

  // The same for findings, whose seals include that of their run too.
  [[nodiscard]] std::string seal_of_finding(RunId run, std::int64_t rank);
  void seal_finding(RunId run, std::int64_t rank);
  [[nodiscard]] std::vector<std::int64_t> unsealed_findings(RunId run);  // ranks
  // Adds the findings of a run of the attached database `other`, which is `from`, behind those of the run.
  void copy_findings(Store& from, RunId source, RunId run);

  Database database;
  std::map<RunId, std::int64_t> ordinals;
  std::optional<Statement> start, conclude, forget_faults, add_fault, add_fault_value, add_worst, add_stage, add_hazard, add_cost, add_line;

  [[nodiscard]] std::int64_t pragma(std::string_view name);
  std::int64_t version_at_opening = 0;  // PRAGMA data_version: differs as soon as another connection has changed the file

  // Records the faults of a verdict (`stage` is empty) or of one of its stages.
  void record_faults(RunId run, const std::string& name, const std::string& stage, const std::vector<Fault>& faults);
  // Records the lines of the sources around the places that a verdict names, as they are now: a source may change before it is reported.
  void record_lines(RunId run, const std::string& name, const Verdict& verdict);

 private:
  // Adds the rows of a statement about that table.
  static void add_rows(base::Hash& hash, std::string_view table, Statement& rows);
  // The first text that the statement gives.
  std::string text(std::string_view sql, RunId run, const std::string* name);
  // Throws LedgerError if the file is not a ledger, or has a version that this program does not know.
  std::int64_t checked_version();
  // Throws LedgerError for a missing table, and for tables that are more than stored rows: views, virtual tables, generated columns.
  void require_plain_tables(std::int64_t version);
  // Throws LedgerError if pages of the file are inconsistent. Reads the file once.
  void require_sound_pages();
  void make_or_advance_schema();

  std::map<std::string_view, Statement> prepared_;           // by table or text
  std::map<std::string, std::vector<std::string>> sources_;  // lines of the files that places name
};

}  // namespace assay::harness
