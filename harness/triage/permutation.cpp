// Finds, for every wrong row or coordinate of an output, the one to which its numbers belong.
#include "harness/triage/permutation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <vector>

namespace assay::harness {
namespace {

// In which order the parts of a row's position may be: {0, 2, 1} for batch, query, head.
using PositionOrder = std::vector<std::size_t>;

struct RowTable {
  const Observation* observation;
  std::size_t length;  // of a row
  std::size_t rows;

  [[nodiscard]] bool holds(std::size_t place, std::size_t expected) const {
    const double actual = observation->actual[place];
    return std::abs(actual - observation->expected.value[expected]) <= 2 * observation->expected.bound[expected];
  }
  [[nodiscard]] bool row_holds(std::size_t row, std::size_t other) const {
    for (std::size_t j = 0; j < length; ++j) {
      if (!holds(row * length + j, other * length + j)) return false;
    }
    return true;
  }
};

RowTable table_of(const Observation& observation) {
  const std::size_t length = std::max<std::size_t>(observation.verdict.row_length, 1);
  return {&observation, length, observation.actual.size() / length};
}

// The row that belongs at the place of `row` if positions are counted in this order of their parts.
std::size_t row_in_order(std::size_t row, std::span<const families::RowPart> parts, const PositionOrder& order) {
  std::vector<std::size_t> at(parts.size());
  for (std::size_t i = order.size(); i-- > 0;) {
    at[order[i]] = row % parts[order[i]].count;
    row /= parts[order[i]].count;
  }
  std::size_t result = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) result = result * parts[i].count + at[i];
  return result;
}

// Parts in another order, which leaves every row the numbers of another one.
std::optional<std::string> find_order(const RowTable& table, std::span<const families::RowPart> parts) {
  PositionOrder order;
  for (std::size_t i = 0; i < parts.size(); ++i) order.push_back(i);
  while (std::ranges::next_permutation(order).found) {
    bool moves = false;
    bool is_right = true;
    std::size_t example = 0;
    for (std::size_t row = 0; row < table.rows && is_right; ++row) {
      const std::size_t other = row_in_order(row, parts, order);
      is_right = other < table.rows && table.row_holds(row, other);
      if (other != row && !moves) example = row;
      moves = moves || other != row;
    }
    if (!is_right || !moves) continue;
    std::string text = "rows are written in the order";
    for (const std::size_t part : order) text += fmt::format("{} {}", part == order.front() ? "" : ",", parts[part].name);
    return fmt::format(
        "{}, not{}: row {} holds what belongs to row {}", text,
        [&] {
          std::string right;
          for (const families::RowPart& part : parts) right += fmt::format("{} {}", &part == &parts.front() ? "" : ",", part.name);
          return right;
        }(),
        example, row_in_order(example, parts, order));
  }
  return std::nullopt;
}

// Every wrong row holds some other row.
std::optional<std::string> find_rows(const RowTable& table) {
  std::size_t wrong = 0;
  std::optional<std::pair<std::size_t, std::size_t>> example;
  for (std::size_t row = 0; row < table.rows; ++row) {
    if (table.row_holds(row, row)) continue;
    ++wrong;
    std::size_t other = 0;
    while (other < table.rows && !table.row_holds(row, other)) ++other;
    if (other == table.rows) return std::nullopt;
    if (!example) example.emplace(row, other);
  }
  if (wrong < 2) return std::nullopt;
  return fmt::format("{} of {} rows hold what belongs to other rows: row {} holds row {}", wrong, table.rows, example->first,
                     example->second);
}

// The coordinates of every row are in the same wrong order.
std::optional<std::string> find_coordinates(const RowTable& table) {
  std::map<std::size_t, std::size_t> from;
  for (std::size_t j = 0; j < table.length; ++j) {
    const auto fits = [&](std::size_t other) {
      for (std::size_t row = 0; row < table.rows; ++row) {
        if (!table.holds(row * table.length + j, row * table.length + other)) return false;
      }
      return true;
    };
    if (fits(j)) continue;
    std::size_t other = 0;
    while (other < table.length && !fits(other)) ++other;
    if (other == table.length) return std::nullopt;
    from.emplace(j, other);
  }
  if (from.size() < 2) return std::nullopt;
  std::string text = "coordinates of each row are in another order:";
  std::size_t named = 0;
  for (const auto& [to, other] : from) {
    if (++named > 4) break;
    text += fmt::format("{} coordinate {} holds coordinate {}", named == 1 ? "" : ",", to, other);
  }
  return text;
}

}  // namespace

std::optional<std::string> find_permutation(std::span<const Observation> failing) {
  std::optional<std::string> found;
  for (const Observation& observation : failing) {
    RowTable table = table_of(observation);
    const families::Family& family = *observation.test_case.family;
    std::vector<families::RowPart> parts;
    if (family.triage.row_parts) parts = family.triage.row_parts(observation.test_case);
    // Behind the rows, a kernel may have a second output.
    std::size_t rows = 1;
    for (const families::RowPart& part : parts) rows *= part.count;
    if (!parts.empty()) table.rows = std::min(table.rows, rows);
    if (table.rows == 0) return std::nullopt;
    std::optional<std::string> here = parts.size() > 1 ? find_order(table, parts) : std::nullopt;
    if (!here) here = find_rows(table);
    if (!here) here = find_coordinates(table);
    if (!here) return std::nullopt;
    if (!found) found = std::move(here);
  }
  return found;
}

}  // namespace assay::harness
