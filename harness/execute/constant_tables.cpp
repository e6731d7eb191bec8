// Recognises tables of the contract among the constant arrays of a source.
#include "harness/execute/constant_tables.h"

#include <bit>
#include <cmath>
#include <optional>

namespace assay::harness {
namespace {

// The elements as floats, or, for a table of bytes, as bytes in memory; empty if they are of another kind.
std::vector<double> values_of(const metal::ConstantTable& table, bool as_bytes) {
  std::vector<double> values;
  for (const std::uint64_t bits : table.bits) {
    if (!as_bytes) {
      if (table.type != metal::ScalarType::float32) return {};
      values.push_back(double{std::bit_cast<float>(static_cast<std::uint32_t>(bits))});
      continue;
    }
    if (table.type == metal::ScalarType::float32 || table.type == metal::ScalarType::float16 || table.type == metal::ScalarType::bfloat16)
      return {};
    for (std::size_t byte = 0; byte < metal::size_of(table.type); ++byte) values.push_back(static_cast<double>(bits >> 8 * byte & 0xff));
  }
  return values;
}

std::optional<fault::WrongTable> compare(const metal::ConstantTable& table, const families::ContractTable& wanted) {
  const std::vector<double> values = values_of(table, wanted.is_of_bytes);
  const std::size_t size = wanted.values.size();
  if (wanted.is_of_bytes ? values.size() < size : values.size() != size) return std::nullopt;
  fault::WrongTable wrong{table.name, wanted.meaning, {table.file, table.line}, {}, 0, size};
  std::size_t near = 0;
  for (std::size_t i = 0; i < size; ++i) {
    near += std::abs(values[i] - wanted.values[i]) <= kNearlyEqualEntries ? 1U : 0U;
    if (values[i] == wanted.values[i]) continue;
    if (++wrong.count <= kWrongEntriesInText) wrong.entries.push_back({i, values[i], wanted.values[i]});
  }
  if (wrong.count == 0 || near * 4 < size * 3) return std::nullopt;
  return wrong;
}

}  // namespace

std::vector<fault::WrongTable> find_wrong_tables(const metal::ArgumentLayout& layout, const Case& test_case) {
  std::vector<fault::WrongTable> found;
  if (test_case.family->tables == nullptr || layout.tables.empty()) return found;
  const std::vector<families::ContractTable> tables = test_case.family->tables(test_case);
  for (const metal::ConstantTable& table : layout.tables) {
    for (const families::ContractTable& wanted : tables) {
      if (auto wrong = compare(table, wanted)) found.push_back(std::move(*wrong));
    }
  }
  return found;
}

}  // namespace assay::harness
