// Writes the contract's values into a constant table, and tries the result.
#include "harness/triage/wrong_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "harness/execute/constant_tables.h"
#include "harness/mutate/source.h"
#include "harness/triage/confirm.h"
#include "harness/triage/written_table.h"
#include "kernels/variant.h"

namespace assay::harness {
namespace {

struct Mended {
  std::string text;
  std::uint32_t line = 0;  // of the first entry that changed
};

// Empty if the table is not written as numbers. A fault has only the first entries that differ, the contract has all.
std::optional<Mended> mended(const std::string& text, const std::string& name, const fault::WrongTable& table, const Case& test_case) {
  const std::vector<families::ContractTable> tables = test_case.family->tables(test_case);
  const auto wanted = std::ranges::find(tables, table.meaning, &families::ContractTable::meaning);
  if (wanted == tables.end()) return std::nullopt;
  const Source source(text, name);
  std::vector<WrittenEntry> entries;
  for (const WrittenTable& written : find_written_tables(source, *wanted)) {
    entries.insert(entries.end(), written.entries.begin(), written.entries.end());
  }
  if (entries.empty()) return std::nullopt;
  std::ranges::sort(entries, {}, &WrittenEntry::offset);
  Mended result{.text = text, .line = source.place(entries.front().offset).line};
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) result.text.replace(entry->offset, entry->length, entry->right);
  return result;
}

}  // namespace

std::string difference_of(const fault::WrongTable& table) {
  const fault::TableEntry& entry = table.entries.front();
  return fmt::format("entry {} of {} is {:.9g}, but {:.9g} in {}; {} of {} entries differ", entry.index,
                     table.table.empty() ? "the table that is written here" : "table " + table.table, entry.value, entry.wanted,
                     table.meaning, table.count, table.size);
}

std::vector<fault::WrongTable> find_wrong_written_tables(const std::filesystem::path& file, const Case& test_case) {
  if (test_case.family->tables == nullptr) return {};
  const Source source(kernels::read_text(file), file.string());
  std::vector<fault::WrongTable> wrong;
  // A half of a table may be one of the contract too.
  std::set<std::size_t> known;
  for (const families::ContractTable& wanted : test_case.family->tables(test_case)) {
    for (const WrittenTable& written : find_written_tables(source, wanted)) {
      bool is_known = true;
      for (const WrittenEntry& entry : written.entries) is_known = !known.insert(entry.offset).second && is_known;
      if (is_known) continue;
      fault::WrongTable& table = wrong.emplace_back();
      table.meaning = wanted.meaning;
      table.place = {file.string(), source.place(written.entries.front().offset).line};
      table.count = written.entries.size();
      table.size = written.size;
      for (const WrittenEntry& entry : written.entries) {
        if (table.entries.size() < kWrongEntriesInText) table.entries.push_back({entry.index, entry.value, entry.wanted});
      }
    }
  }
  return wrong;
}

Blame blame_wrong_tables(const Laboratory& laboratory, std::span<const Fault> faults, std::span<const Case> given) {
  const std::filesystem::path& file = laboratory.variant().source;
  std::string text = kernels::read_text(file);
  Blame blame;
  for (const Fault& fault : faults) {
    const auto* const table = fault.as<fault::WrongTable>();
    if (table == nullptr || table->entries.empty() || given.empty()) continue;
    std::optional<Mended> with = mended(text, file.string(), *table, given.front());
    if (!with) continue;
    text = std::move(with->text);
    blame.suspects.push_back({.file = file.string(),
                              .line = with->line,
                              .why = difference_of(*table),
                              .is_elsewhere = false,
                              .context = {},
                              .repaired = std::string(base::trimmed(Source(text, file.string()).line(with->line)))});
  }
  if (blame.suspects.empty()) return {};
  Laboratory before = laboratory.with_source(file);
  Laboratory repaired = with_text(laboratory, text);
  const Confirmation confirmation = confirm(before, repaired, given, kConfirmation);
  if (confirmation.breaks || confirmation.healed == 0) return {};
  for (Suspect& suspect : blame.suspects) suspect.why += fmt::format("; with the contract's values, {}", to_text(confirmation));
  blame.repaired = std::move(text);
  blame.is_partial = !confirmation.is_full();
  return blame;
}

}  // namespace assay::harness
