// Edits of suspect lines that no mutation operator makes: what authors of wrong kernels have confused or forgotten.
#pragma once

#include <vector>

#include "harness/mutate/operators.h"
#include "harness/mutate/source.h"
#include "harness/triage/slices.h"

namespace assay::harness {

// Edits of expressions on suspect lines, and of initial values on all lines. `op` is
//   other_name   a variable, parameter or struct member becomes another of the same type
//   near_number  an integer variable becomes one more or one less
//   start        the initial value of a number becomes 0, 1, the lowest float or minus infinity
//   more_weight  one addend of a sum gets a factor, as another one has
//   more_factor  an operand gets a factor or divisor: a number in scope
//   other_base   it gets the factor log2(e) or ln(2)
//   more_term    an index or condition gets a term that another one of the source has
[[nodiscard]] std::vector<Edit> plausible_edits(const Source& source, const LineSuspicion& suspicion);

}  // namespace assay::harness
