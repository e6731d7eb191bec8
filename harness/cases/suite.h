// Suites: named, deterministic selections of a family's cases.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "harness/cases/case.h"
#include "harness/cases/covering.h"
#include "harness/cases/family.h"
#include "kernels/variant.h"

namespace assay::harness {

enum class Suite {
  smoke,  // the first hundred short cases of the gate: seconds
  gate,   // a covering design (every pair of levels, every triple of classes), then the family's files of the corpus and its own cases
};

// "smoke", "gate"; throws std::invalid_argument for anything else.
[[nodiscard]] Suite parse_suite(std::string_view name);
[[nodiscard]] bool is_suite(std::string_view name);
[[nodiscard]] std::span<const std::string_view> suite_names();

// The gate's design of a family: its factors with the fixtures as the last one.
[[nodiscard]] CoveringDesign gate_design(const Family& family);

// Cases of a suite for one variant, in a fixed order. `seed` shifts the seeds of all cases, which are otherwise derived from
// their names, so that different cases see different data. Cases outside of the variant's [limits] are left out and
// counted in `left_out` if that is given.
[[nodiscard]] std::vector<Case> suite_cases(Suite suite, const kernels::Variant& variant, std::uint64_t seed,
                                            std::size_t* left_out = nullptr);

// Throws kernels::VariantError if a [limits] of the variant names an axis that its family does not have.
void check_limits(const kernels::Variant& variant);
// Whether [limits] of the variant admits the case.
[[nodiscard]] bool within_limits(const kernels::Variant& variant, const Case& value);

}  // namespace assay::harness
