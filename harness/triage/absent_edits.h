// Edits that add what a mistake left out.
#pragma once

#include <vector>

#include "harness/mutate/operators.h"
#include "harness/mutate/source.h"
#include "harness/triage/slices.h"

namespace assay::harness {

// Edits of expressions on suspect lines. `op` is
//   windowed     a condition that compares a key and a position gets a window
//   more_bound   a condition also compares one of its variables with a limit that the source has elsewhere, or holds for the first thread,
//                SIMD-group or part only
//   more_size    a part of a limit becomes larger or smaller by a constant of the source
//   one_off      a name that is compared, or an argument of a minimum or maximum, becomes larger or smaller by one
//   guarded      what has seen nothing, whose maximum is minus infinity, is skipped or weighs nothing; on all lines
[[nodiscard]] std::vector<Edit> absent_edits(const Source& source, const LineSuspicion& suspicion);

}  // namespace assay::harness
