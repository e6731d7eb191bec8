// Helpers for writing down the levels of a family's factors.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "families/family.h"
#include "families/shared/scales.h"

namespace assay::families {

inline constexpr std::array<std::int64_t, 2> kHeadDims = {256, 512};

[[nodiscard]] inline Axis head_dim_axis(bool is_capability = true) {
  return {.name = "head_dim",
          .minimum = kHeadDims.front(),
          .maximum = kHeadDims.back(),
          .initial = kHeadDims.front(),
          .brief = "d",
          .is_capability = is_capability,
          .weight = Weight::factor,
          .tried = Tried::simplest,
          .simplest = kHeadDims.front()};
}

// An axis that is a positive float; numbers up to `largest_whole` stand for themselves or have a special meaning.
[[nodiscard]] inline Axis float_axis(std::string_view name, std::int64_t initial, std::int64_t largest_whole) {
  return {.name = name,
          .minimum = 0,
          .maximum = kScaleLargest,
          .initial = initial,
          .largest_whole = largest_whole,
          .weight = Weight::choice,
          .tried = Tried::simplest,
          .simplest = initial};
}

[[nodiscard]] inline Axis scale_factor_axis() {
  Axis axis = float_axis("scale_factor_d512", 1, kScaleFactorWhole);
  axis.zero_in_files = kScaleFactorRoot;
  return axis;
}

// The labels of the rows of a table.
template <typename Table, typename Label>
[[nodiscard]] std::vector<std::string> labels(const Table& table, const Label& label) {
  std::vector<std::string> result;
  for (const auto& row : table) result.push_back(label(row));
  return result;
}
[[nodiscard]] inline std::string number_label(std::int64_t value) { return fmt::format("{}", value); }
[[nodiscard]] inline std::string text_label(std::string_view value) { return std::string(value); }

// Whether one axis has the value of a level; the table must outlive the result.
[[nodiscard]] inline auto equal_to(std::size_t axis, std::span<const std::int64_t> table) {
  return [axis, table](std::size_t level, std::span<const std::int64_t> values) { return values[axis] == table[level]; };
}

// A factor that is a single axis, with a table of its values. Smoke and gate use the first `everyday` ones.
[[nodiscard]] inline Factor factor_of(std::string_view name, std::size_t axis, std::span<const std::int64_t> table, std::size_t everyday) {
  return {name, labels(table, number_label), everyday, equal_to(axis, table)};
}
[[nodiscard]] inline Factor factor_of(std::string_view name, std::size_t axis, std::span<const std::int64_t> table) {
  return factor_of(name, axis, table, table.size());
}

// Sets the value of a level, or kOpen if there is none.
inline void set(std::int64_t& value, std::span<const std::int64_t> table, int level) {
  value = level < 0 ? kOpen : table[static_cast<std::size_t>(level)];
}

// For families whose most expensive case takes milliseconds.
[[nodiscard]] inline std::int64_t no_work(std::span<const std::int64_t>) { return 0; }

}  // namespace assay::families
