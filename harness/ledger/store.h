// The private data of a Ledger: the open database, and the statements of running runs. Internal to harness/ledger/.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

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

  Database database;
  std::map<RunId, std::int64_t> ordinals;
  std::optional<Statement> start, conclude, forget_faults, add_fault, add_fault_value, add_worst, add_stage, add_hazard, add_cost;

  // Records the faults of a verdict (`stage` is empty) or of one of its stages.
  void record_faults(RunId run, const std::string& name, const std::string& stage, const std::vector<Fault>& faults);

 private:
  std::int64_t pragma(std::string_view name);
  // Throws LedgerError if the file is not a ledger, or has a version that this program does not know.
  std::int64_t checked_version();
  // Throws LedgerError for a missing table, and for tables that are more than stored rows: views, virtual tables, generated columns.
  void require_plain_tables(std::int64_t version);
  // Throws LedgerError if pages of the file are inconsistent. Reads the file once.
  void require_sound_pages();
  void make_or_advance_schema();
};

}  // namespace assay::harness
