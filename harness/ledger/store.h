// What a Ledger keeps behind its back: the open database, and the statements of runs that go on. Internal to harness/ledger/.
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

// How faults are spelt in the table `worst`.
inline constexpr std::array<std::pair<ElementFault, std::string_view>, 5> kFaults = {{{ElementFault::none, ""},
                                                                                      {ElementFault::above_bound, "above bound"},
                                                                                      {ElementFault::not_written, "never written"},
                                                                                      {ElementFault::nan, "nan"},
                                                                                      {ElementFault::infinite, "infinite"}}};

struct Ledger::Store {
  Store(const std::filesystem::path& file, Database::Mode mode) : database(file, mode) {}

  // Makes or advances the schema. Throws LedgerError as Ledger::open().
  void prepare_to_write();
  void prepare_to_read();

  // Cases are numbered in the order of starting; one process alone writes a run.
  std::int64_t next_ordinal(RunId run);

  Database database;
  std::map<RunId, std::int64_t> ordinals;
  std::optional<Statement> start, conclude, forget_faults, add_fault, add_fault_value, add_worst, add_stage, add_hazard, add_cost;

  // Of a verdict (`stage` is empty), or of a stage of it.
  void record_faults(RunId run, const std::string& name, const std::string& stage, const std::vector<Fault>& faults);

 private:
  std::int64_t pragma(std::string_view name);
  // Throws LedgerError if the file is no ledger, or one that this program does not know.
  std::int64_t checked_version();
  // Throws LedgerError for a table that is missing, or none whose rows are simply there: a view, a virtual table, computed columns.
  void require_plain_tables(std::int64_t version);
  // Throws LedgerError where pages of the file do not fit together. Takes the time of reading it once.
  void require_sound_pages();
  void make_or_advance_schema();
};

}  // namespace assay::harness
