// Suites: named, deterministic selections of a family's cases.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "families/family.h"
#include "harness/cases/case.h"
#include "harness/cases/covering.h"
#include "kernels/variant.h"

namespace assay::harness {

enum class Suite { smoke, gate, full, soak };

// A suite as its row of the table says: a covering design over the factors of a family and the fixtures.
struct SuitePlan {
  std::string_view name;
  std::string_view about;
  Suite suite;
  std::size_t further_strength = 0;                                 // levels that meet beyond the family's gate_strength
  bool long_levels = false;                                         // whether levels that are not everyday ones take part
  std::int64_t work = 0;                                            // what one case may cost at most (Family::work)
  std::int64_t rare_work = 0;                                       // the same where no cheaper case meets some combination
  std::int64_t long_work = 0;                                       // the same at a level that is not an everyday one
  std::uint64_t repetitions = 1;                                    // times every case is there, each with a seed of its own
  std::int64_t longest = std::numeric_limits<std::int64_t>::max();  // longest cache (kv_len, kv_capacity) of a case
  std::size_t most_cases = std::numeric_limits<std::size_t>::max();
  bool corpus = false;  // whether the family's fixture files and its own cases follow, once
};

// The work of an everyday case: 2^23 products of dot products, about 60 ms on one core.
inline constexpr std::int64_t kEverydayWork = std::int64_t{1} << 23;

[[nodiscard]] std::span<const SuitePlan> suite_plans();
[[nodiscard]] const SuitePlan& plan_of(Suite suite);

// "smoke", "gate", ...; throws std::invalid_argument for anything else.
[[nodiscard]] Suite parse_suite(std::string_view name);
[[nodiscard]] bool is_suite(std::string_view name);
[[nodiscard]] std::vector<std::string_view> suite_names();

// What a suite is for a variant: of one that is superseded `gate` is `smoke`. It is kept to be compared with, and who takes its place goes
// through the gate. Globs, which name what they want, and the longer suites select as of any other.
[[nodiscard]] Suite suite_for(Suite asked, const kernels::Variant& variant);

// Fixtures that have something to say about a family: the levels of the last factor of its designs.
[[nodiscard]] std::vector<std::string_view> fixtures_of(const Family& family);

// What a case of the suite may cost at most, long ones apart.
[[nodiscard]] constexpr std::int64_t most_work(const SuitePlan& plan) { return std::max(plan.work, plan.rare_work); }

// The covering design of a suite over a family's factors, with the fixtures as the last one, of what lies inside of `limits`
// and costs `work` at most. Refers to `family` and `limits`, which must outlive it.
[[nodiscard]] CoveringDesign suite_design(const SuitePlan& plan, const Family& family, std::span<const kernels::AxisLimit> limits,
                                          std::int64_t work);

// Cases of a suite for one variant, in a fixed order, no two the same. `seed` shifts the seeds of all cases, which are otherwise
// derived from their names, so that different cases see different data, and the variants of a family the same. Cases
// outside of the variant's [limits] are left out and counted in `left_out` if that is given; where only they held a
// combination that the limits admit, further cases hold it.
[[nodiscard]] std::vector<Case> suite_cases(Suite suite, const kernels::Variant& variant, std::uint64_t seed,
                                            std::size_t* left_out = nullptr);

// Throws kernels::VariantError if [limits] (of a lone file: --limit) or a claim of the variant names an axis that its family does not have.
void check_axis_names(const kernels::Variant& variant);
// Whether a limit admits the case.
[[nodiscard]] bool admits(const kernels::AxisLimit& limit, const Case& value);
// The first limit of those that its author set which the case lies outside of; nullptr if there is none.
[[nodiscard]] const kernels::AxisLimit* said_limit_against(const kernels::Variant& variant, const Case& value);
// Whether all limits of the variant admit the case.
[[nodiscard]] bool within_limits(const kernels::Variant& variant, const Case& value);

}  // namespace assay::harness
