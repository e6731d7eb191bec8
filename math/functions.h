// Elementary functions with the same bits on every machine: each result is the double nearest to the exact value, ties to even.
//
// The C library's are not that: glibc chooses between variants by the processor, and their last bits differ. Here a guess with a known
// bound on its error comes first; where that leaves two doubles to choose from, MPFR decides. So neither the processor nor the version of a
// library can change a result. A NaN that no argument was is the quiet one with the sign set.
#pragma once

#include "math/names.h"

namespace assay::math {

#define ASSAY_MATH_DECLARE_1(name) [[nodiscard]] double name(double x);
#define ASSAY_MATH_DECLARE_2(name) [[nodiscard]] double name(double x, double y);
ASSAY_MATH_KERNEL_FUNCTIONS_1(ASSAY_MATH_DECLARE_1)
ASSAY_MATH_KERNEL_FUNCTIONS_2(ASSAY_MATH_DECLARE_2)
#undef ASSAY_MATH_DECLARE_1
#undef ASSAY_MATH_DECLARE_2
[[nodiscard]] double expm1(double x);
[[nodiscard]] double erfc(double x);

}  // namespace assay::math
