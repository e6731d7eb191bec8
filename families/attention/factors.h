// The values that suites of family `attention` combine, and which of them a variant supports. Internal to families/attention.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "families/attention/shape.h"
#include "kernels/variant.h"

namespace assay::families::attention {

using Given = std::pair<AxisIndex, std::int64_t>;

// One level of a factor: the values of its axes.
struct Level {
  std::string label;
  std::vector<Given> values;
  bool is_everyday = true;
};

struct FactorTable {
  std::string_view name;
  std::vector<Level> levels;
};

using AxisValues = std::array<std::int64_t, kAxisCount>;

// All values that a gate must meet.
[[nodiscard]] std::vector<FactorTable> all_factors();
// The factors of one variant: without the levels that its [limits] exclude, and with levels for numbers that no table has.
[[nodiscard]] std::vector<FactorTable> factors_within(std::span<const kernels::AxisLimit> limits);
// The values of the first level of every factor: those of features that a case does not use.
[[nodiscard]] AxisValues first_values(const std::vector<FactorTable>& tables);

// The values of an axis that [limits] admit; empty: all.
[[nodiscard]] std::vector<std::int64_t> limit_of(std::span<const kernels::AxisLimit> limits, AxisIndex axis);

// The smallest value of each axis in any level.
[[nodiscard]] AxisValues least_values(const std::vector<FactorTable>& tables);

// Whether values that are set can be part of a valid case. Open ones are kOpen, and will be at least as large as in `least`.
[[nodiscard]] bool is_possible(std::span<const std::int64_t> v, const AxisValues& first, const AxisValues& least);

}  // namespace assay::families::attention
