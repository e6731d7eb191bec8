// Functions that compiled kernels call by these names. metal/shader/scalar_math.h declares them; the dynamic linker finds them in the
// program.
//
// Rounding the result of assay_math_<name> to 24 bits or fewer gives the same bits on every machine, and the number nearest to the exact
// value. Its own last bits are not guaranteed, which makes it as fast as the C library. assay_math_exact_<name> returns the nearest double,
// as in math/functions.h, for numbers that stay doubles (policy `shadow`).
#pragma once

#include "math/names.h"

extern "C" {
#define ASSAY_MATH_DECLARE_1(name)    \
  double assay_math_##name(double x); \
  double assay_math_exact_##name(double x);
#define ASSAY_MATH_DECLARE_2(name)              \
  double assay_math_##name(double x, double y); \
  double assay_math_exact_##name(double x, double y);
ASSAY_MATH_KERNEL_FUNCTIONS_1(ASSAY_MATH_DECLARE_1)
ASSAY_MATH_KERNEL_FUNCTIONS_2(ASSAY_MATH_DECLARE_2)
#undef ASSAY_MATH_DECLARE_1
#undef ASSAY_MATH_DECLARE_2
}
