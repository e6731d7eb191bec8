// The functions of math/kernel_functions.h by way of the C library and MPFR: slow, but for any argument. They decide what the fast
// evaluation leaves in doubt, and tests compare it with them.
#pragma once

#include "math/names.h"

namespace assay::math::library {

// Rounding the result to 24 bits or fewer gives the number nearest to the exact value. Exceptions are those of the C library; a NaN that
// does not come from an argument is the quiet NaN with the sign set.
#define ASSAY_MATH_DECLARE_1(name) [[nodiscard]] double name(double x);
#define ASSAY_MATH_DECLARE_2(name) [[nodiscard]] double name(double x, double y);
ASSAY_MATH_KERNEL_FUNCTIONS_1(ASSAY_MATH_DECLARE_1)
ASSAY_MATH_KERNEL_FUNCTIONS_2(ASSAY_MATH_DECLARE_2)
#undef ASSAY_MATH_DECLARE_1
#undef ASSAY_MATH_DECLARE_2

}  // namespace assay::math::library
