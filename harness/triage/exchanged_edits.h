// Edits that undo what authors mix up: which of two counts runs faster, and arguments whose names have the same parts.
#pragma once

#include <vector>

#include "harness/mutate/operators.h"
#include "harness/mutate/source.h"
#include "harness/triage/slices.h"

namespace assay::harness {

// Edits of suspect lines. `op` is
//   other_order  `b * m + a` for `a * n + b`, so that the other count runs faster
//   turned       `b - a` for `a - b`; turned_exponent in the argument of an exponential
//   turned_ring  `(slot + n - start) % n` for `(slot + start) % n`, or the other way round
//   renamed      several names of a line at once become others of the same types that differ in the same part: `k_page, k_row` for
//                `v_page, v_row`
[[nodiscard]] std::vector<Edit> exchanged_edits(const Source& source, const LineSuspicion& suspicion);

}  // namespace assay::harness
