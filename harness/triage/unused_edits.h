// Edits that use what a kernel gets and does not use: an author may have forgotten it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/mutate/operators.h"
#include "harness/mutate/source.h"
#include "harness/triage/slices.h"

namespace assay::harness {

// Edits of expressions on suspect lines. `subject`: names of what the mistake is about (unused_names.h); these may be missing in one line
// and used in others. `op` is
//   unused        an argument that no line uses gets into a sum, in place of another one, or into a choice between the two
//   unused_shift  it is added to an integer, or subtracted; a name of the subject only to what a remainder is taken of
//   unused_stride a name of the subject that a line lacks gets into a sum in which another one is
//   given         it stands for what is computed in parentheses
//   flagged       one of two decides whether the other counts
//   divided       what is divided is divided by it first
//   capped        it is the soft cap of what is assigned
[[nodiscard]] std::vector<Edit> unused_edits(const Source& source, const LineSuspicion& suspicion,
                                             std::span<const std::string> subject = {});

}  // namespace assay::harness
