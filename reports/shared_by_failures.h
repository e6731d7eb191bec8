// What the failing cases of a run have in common, for its notes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/ledger/ledger.h"

namespace assay::reports {

// For each variant with several failing cases and some that passed: the fixture, the value of an axis, or the range of values, that all
// failing cases have and at most three quarters of those that passed. The two that fit best, each in a sentence.
[[nodiscard]] std::vector<std::string> shared_by_failures(std::span<const harness::CaseRecord> cases);

// For a variant of which nearly every failing value is within the roundings that weaker storage would explain, a sentence that says where
// to declare it. Empty for other variants, and for families whose bounds have no terms for it.
[[nodiscard]] std::string storage_hint(std::span<const harness::CaseRecord> cases_of_variant);

}  // namespace assay::reports
