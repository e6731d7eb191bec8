// What the failing cases of a run have in common, for its notes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/ledger/ledger.h"

namespace assay::reports {

// For each variant with at least two failing cases and some that passed: the fixture, the value of an axis, or the range of values, that
// all failing cases have, at most half of those that passed, and that as many cases drawn at random would share at most once in 200 times.
// The one that fewest of the passed cases have, and another if it separates as well or at most a quarter as many pass as fail; each in a
// sentence.
[[nodiscard]] std::vector<std::string> shared_by_failures(std::span<const harness::CaseRecord> cases);

// For a variant of which nearly every failing value is off by one or two roundings to half or bfloat, and that fails in most cases with
// such formats and lengths, whatever else they have: a sentence that says where to declare weaker storage. Empty for other variants, and
// for families whose bounds have no terms for it.
[[nodiscard]] std::string storage_hint(std::span<const harness::CaseRecord> cases_of_variant);

}  // namespace assay::reports
