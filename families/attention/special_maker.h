// Makes special cases of one variant: from the first values that it supports, and only what its limits admit. Internal to
// families/attention.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "families/attention/special_cases.h"
#include "kernels/launch.h"

namespace assay::families::attention {

class SpecialMaker {
 public:
  SpecialMaker(const std::vector<FactorTable>& tables, const kernels::Variant& variant);

  // Values of axes without others given: those of the first level of each factor.
  AxisValues first;
  SpecialCases cases;

  [[nodiscard]] const std::vector<Level>& levels_of(std::string_view factor) const;
  // The first level of this axis with another value than the first values have, above 1, and the last one; null if there is none.
  [[nodiscard]] const Level* several_of(AxisIndex axis) const;
  [[nodiscard]] const Level* most_of(AxisIndex axis) const;
  [[nodiscard]] bool admits(AxisIndex axis, std::int64_t value) const;
  [[nodiscard]] std::vector<std::int64_t> limit_of(AxisIndex axis) const { return attention::limit_of(variant_.limits, axis); }

  // Levels of heads by their number of key/value heads; null if there is none.
  [[nodiscard]] const Level* several_heads() const;
  [[nodiscard]] const Level* one_head() const;
  // The values of a case that costs little: the smallest head sizes, and the fewest heads.
  [[nodiscard]] std::vector<Given> cheap() const;

  // The launch of a case with these values; empty if it cannot be computed, of which whoever runs the case is told.
  [[nodiscard]] std::vector<kernels::PlannedDispatch> launch_of(const std::vector<Given>& given) const;
  // Of all dispatches; nothing without a launch.
  [[nodiscard]] std::optional<std::int64_t> threads_of(const std::vector<Given>& given) const;

  // Only if [limits] admit it and it is possible. Returns whether it is.
  bool add(std::vector<std::string_view>& list, const std::vector<Given>& given, int seed, std::string_view fixture = "gauss");
  // The same with one query, or with as many as the first values have.
  bool add_row(std::vector<std::string_view>& list, std::vector<Given> given, int seed, std::string_view fixture = "gauss");

  // The first values, with those that are given.
  [[nodiscard]] AxisValues values_of(const std::vector<Given>& given) const;

 private:
  const std::vector<FactorTable>& tables_;
  const kernels::Variant& variant_;
};

// Parts of special_cases(): offsets of more than 31 and 32 bits, and keys that several simdgroups or blocks share.
void add_gigabytes(SpecialMaker& maker);
void add_parts(SpecialMaker& maker);

}  // namespace assay::families::attention
