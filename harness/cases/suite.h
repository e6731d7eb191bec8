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

enum class Suite { smoke, gate, full, soak, longest, negative };

// The cases of a suite about what the family's contract leaves out (families/omission.h).
enum class Beyond { none, claimed, all };

// The definition of a suite: a covering design over the factors of a family and the fixtures.
struct SuitePlan {
  std::string_view name;
  std::string_view description;
  Suite suite;
  std::size_t further_strength = 0;                                 // number of levels per combination beyond the family's gate_strength
  bool long_levels = false;                                         // whether levels that are not everyday ones take part
  std::int64_t work = 0;                                            // the largest cost of one case (Family::work)
  std::int64_t rare_work = 0;                                       // the same if no cheaper case contains some combination
  std::int64_t long_work = 0;                                       // the same at a level that is not an everyday one
  std::uint64_t repetitions = 1;                                    // number of times that every case occurs, each with a separate seed
  std::int64_t longest = std::numeric_limits<std::int64_t>::max();  // longest cache (kv_len, kv_capacity) of a case
  std::size_t most_cases = std::numeric_limits<std::size_t>::max();
  std::size_t drawn = 0;       // number of further cases per repetition whose values a seed other than 0 draws (Family::draw)
  bool longest_cases = false;  // whether the cases of Family::longest_cases are added, once
  bool corpus = false;         // whether the family's fixture files and its own cases are added, once
  Beyond beyond = Beyond::none;
};

// The largest work of an everyday case: 2^23 products of dot products, about 60 ms on one core.
inline constexpr std::int64_t kEverydayWork = std::int64_t{1} << 23;

[[nodiscard]] std::span<const SuitePlan> suite_plans();
[[nodiscard]] const SuitePlan& plan_of(Suite suite);

// Parses "smoke", "gate", ...; throws std::invalid_argument for anything else.
[[nodiscard]] Suite parse_suite(std::string_view name);
[[nodiscard]] bool is_suite(std::string_view name);
[[nodiscard]] std::vector<std::string_view> suite_names();

// The suite that is used for a variant. For a superseded variant, `gate` means `smoke`: the variant is kept only for comparisons, and
// its successor runs the gate. Globs, which name their cases, and the longer suites are not affected.
[[nodiscard]] Suite suite_for(Suite asked, const kernels::Variant& variant);

// The fixtures that are relevant to a family: the levels of the last factor of its designs.
[[nodiscard]] std::vector<std::string_view> fixtures_of(const Family& family);

// The largest cost of a case of the suite, apart from long ones.
[[nodiscard]] constexpr std::int64_t most_work(const SuitePlan& plan) { return std::max(plan.work, plan.rare_work); }

// The covering design of a suite over a family's factors, with the fixtures as the last factor. Contains only combinations within
// `limits` that cost at most `work`. Refers to `family` and `limits`, which must outlive it.
[[nodiscard]] CoveringDesign suite_design(const SuitePlan& plan, const Family& family, std::span<const kernels::AxisLimit> limits,
                                          std::int64_t work);

// The cases of a suite for one variant without a copy of every repetition, because the longest suite has more than a million.
struct SuiteList {
  std::vector<Case> designed;  // the first repetition
  std::uint64_t repetitions = 1;
  std::vector<Case> further;  // behind all repetitions

  [[nodiscard]] std::size_t size() const { return designed.size() * repetitions + further.size(); }
  // Throws std::out_of_range.
  [[nodiscard]] Case at(std::size_t index) const;
};
[[nodiscard]] SuiteList suite_list(Suite suite, const kernels::Variant& variant, std::uint64_t seed, std::size_t* left_out = nullptr);

// The cases of a suite for one variant, in a fixed order, all different. Seeds are derived from the names of the cases. So different
// cases use different data, and the variants of a family use the same; `seed` shifts all seeds.
//
// A seed other than 0 also adds cases with values that it draws, so that a kernel that is right only for the values of our tables fails.
//
// Cases outside of the variant's [limits] are left out and counted in `left_out` if given. If a combination that the limits admit
// occurred only in such cases, further cases contain it.
[[nodiscard]] std::vector<Case> suite_cases(Suite suite, const kernels::Variant& variant, std::uint64_t seed,
                                            std::size_t* left_out = nullptr);

// Throws kernels::VariantError if [limits] (for a lone file: --limit) or a claim of the variant names an axis that its family
// does not have, or if a claim is about no omission of the family.
void check_axis_names(const kernels::Variant& variant);

// Whether the launch code would accept the case.
[[nodiscard]] bool is_valid(const Case& value);
// The omission that a case is about; nullptr if the contract covers the case.
[[nodiscard]] const Omission* omission_of(const Case& value);
// The claim of the variant that a case tests; nullptr if there is none.
[[nodiscard]] const kernels::Claim* claim_about(const kernels::Variant& variant, const Case& value);
// The cases whose results must have the same bits as that of a case about an omission of that kind: equal but for one axis, whose values
// the limits of the variant and the launch code admit.
[[nodiscard]] std::vector<Case> cases_of_same_bits(const kernels::Variant& variant, const Case& value);
// Whether a limit admits the case.
[[nodiscard]] bool admits(const kernels::AxisLimit& limit, const Case& value);
// The first of the limits set by the author that excludes the case; nullptr if there is none.
[[nodiscard]] const kernels::AxisLimit* declared_limit_against(const kernels::Variant& variant, const Case& value);
// Whether all limits of the variant admit the case.
[[nodiscard]] bool within_limits(const kernels::Variant& variant, const Case& value);

}  // namespace assay::harness
