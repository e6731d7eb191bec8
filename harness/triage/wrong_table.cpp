// Writes the contract's values into a constant table, and tries the result.
#include "harness/triage/wrong_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "harness/mutate/source.h"
#include "harness/triage/confirm.h"
#include "kernels/variant.h"

namespace assay::harness {
namespace {

// A number in a source, with its sign.
struct Written {
  std::size_t offset = 0, length = 0;
};

// "float4", of the constructor of a vector.
bool is_vector_name(std::string_view word) {
  return word.starts_with("float") && word.size() == 6 && word.back() >= '2' && word.back() <= '4';
}

// The numbers between the braces behind a name, in their order, also those within constructors of vectors; empty if something else stands
// there too.
std::vector<Written> numbers_of(const Source& source, const std::string& table, std::uint32_t line) {
  using metal::translate::TokenKind;
  for (const SourcePiece& piece : source.pieces()) {
    const std::vector<SourceToken>& tokens = piece.tokens;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (!tokens[i].is(table) || source.place(tokens[i].offset).line < line) continue;
      while (i < tokens.size() && !tokens[i].is("{") && !tokens[i].is(";")) ++i;
      if (i == tokens.size() || tokens[i].is(";")) return {};
      std::vector<Written> numbers;
      for (std::size_t at = i + 1; at < tokens[i].match; ++at) {
        const SourceToken& token = tokens[at];
        if (token.is(",") || token.is("{") || token.is("}") || token.is("(") || token.is(")") || is_vector_name(token.text)) continue;
        const bool is_negative = token.is("-");
        if (is_negative) ++at;
        if (tokens[at].kind != TokenKind::number) return {};
        numbers.push_back({token.offset, tokens[at].offset + tokens[at].text.size() - token.offset});
      }
      return numbers;
    }
  }
  return {};
}

std::string as_float(double value) {
  std::string text = fmt::format("{:.9g}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + "f";
}

struct Mended {
  std::string text;
  std::uint32_t line = 0;  // of the first entry that changed
};

// Empty if the table is not a list of as many floats. A fault has only the first entries that differ, the contract has all.
std::optional<Mended> mended(const std::string& text, const std::string& name, const fault::WrongTable& table, const Case& test_case) {
  const std::vector<families::ContractTable> tables = test_case.family->tables(test_case);
  const auto wanted = std::ranges::find(tables, table.meaning, &families::ContractTable::meaning);
  if (wanted == tables.end() || wanted->is_of_bytes) return std::nullopt;
  const Source source(text, name);
  const std::vector<Written> numbers = numbers_of(source, table.table, table.place.line);
  if (numbers.size() != wanted->values.size()) return std::nullopt;
  Mended result{.text = text};
  for (std::size_t i = numbers.size(); i-- > 0;) {
    const std::string written = text.substr(numbers[i].offset, numbers[i].length);
    // Sign and digits may stand apart: "- 0.5f".
    std::string compact = written;
    std::erase_if(compact, [](char c) { return c == ' ' || c == '\n' || c == '\t'; });
    if (static_cast<double>(std::strtof(compact.c_str(), nullptr)) == wanted->values[i]) continue;
    result.text.replace(numbers[i].offset, numbers[i].length, as_float(wanted->values[i]));
    result.line = source.place(numbers[i].offset).line;
  }
  return result.line == 0 ? std::nullopt : std::optional(std::move(result));
}

}  // namespace

std::string difference_of(const fault::WrongTable& table) {
  const fault::TableEntry& entry = table.entries.front();
  return fmt::format("entry {} of table {} is {:.9g}, but {:.9g} in {}; {} of {} entries differ", entry.index, table.table, entry.value,
                     entry.wanted, table.meaning, table.count, table.size);
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
