// What the failing cases of a run have in common, for its notes.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/ledger/ledger.h"

namespace assay::reports {

// For each variant with at least two failing cases and some that passed: the fixture, the value of an axis, or the range of values, that
// all failing cases have, at most half of those that passed, and that as many cases drawn at random would share at most once in 200 times.
// The one that fewest of the passed cases have, and another if it separates as well or at most a quarter as many pass as fail; each in a
// sentence.
[[nodiscard]] std::vector<std::string> shared_by_failures(std::span<const harness::CaseRecord> cases);

// Failing cases of a variant that are worth repeating with the bounds of weaker storage, the worst ones first: at most 16, none that takes
// long. None if storage cannot be the cause: if many fail otherwise than by being off, or by far, or if failures keep to a fixture, some
// masks, head dimensions or lengths, as mistakes in logic do; and for families whose bounds have no terms for it.
[[nodiscard]] std::vector<const harness::CaseRecord*> failures_to_repeat(std::span<const harness::CaseRecord> cases_of_variant);

// What became of failing cases that were repeated with the bounds of one declaration.
struct StorageTrial {
  std::string declaration;                        // as [accuracy] has it: `keys = "half"`
  std::size_t passed = 0, failed = 0, loose = 0;  // loose: bounds that say nothing any more
  double largest_ratio = 0;                       // error / bound of those that passed

  // Whether nearly all pass, and for most of them that says something.
  [[nodiscard]] bool explains() const;
};

// A sentence that names the declarations that explain the failures, the likeliest first; empty if there is none.
[[nodiscard]] std::string storage_hint(std::string_view variant, std::vector<StorageTrial> trials);

}  // namespace assay::reports
