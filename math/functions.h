// Elementary functions with the same bits on every machine: each result is the double nearest to the exact value, ties to even.
//
// The C library does not provide that: glibc selects variants by processor, and their last bits differ. Here an approximation with a known
// error bound comes first; if it leaves two candidates, MPFR decides. So neither the processor nor the library version changes a result. A
// NaN that does not come from an argument is the quiet NaN with the sign set.
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
