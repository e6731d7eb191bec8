// Cases of family `attention` that no design combines. Internal to families/attention.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "families/attention/factors.h"
#include "kernels/variant.h"

namespace assay::families::attention {

// By name without the variant: `own` for the gate too, `longer` for suites with long contexts, `longest` for the suite `long`.
struct SpecialCases {
  std::deque<std::string> names;
  std::vector<std::string_view> own, longer, longest;
};

// Those that the variant's limits admit, made of the first values that it supports.
[[nodiscard]] SpecialCases special_cases(const std::vector<FactorTable>& tables, const kernels::Variant& variant);

}  // namespace assay::families::attention
