// Edits that put a value into an expression that the source has elsewhere, or take it out of one.
#pragma once

#include <vector>

#include "harness/mutate/operators.h"
#include "harness/mutate/source.h"
#include "harness/triage/slices.h"

namespace assay::harness {

// Edits of expressions on suspect lines. `op` is
//   wrapped      a call with the value as an argument in place of the value, or the initial value of a variable that holds it:
//                `slot_of(ring, key)` for `key`
//   unwrapped    an argument in place of a call: `score` for `capped(score)`
[[nodiscard]] std::vector<Edit> wrapping_edits(const Source& source, const LineSuspicion& suspicion);

}  // namespace assay::harness
