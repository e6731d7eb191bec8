// What compiled kernels call, by these names. metal/shader/scalar_math.h binds to them; the dynamic linker finds them in the program.
//
// assay_math_<name> is as good as the exact value for whoever rounds it to 24 bits or fewer: the rounded number has the same bits on
// every machine, and is the one nearest to the exact value. Its own last bits are nobody's promise; in exchange it costs what the C
// library's function does. assay_math_exact_<name> is the nearest double, as in math/functions.h, for numbers that stay doubles (policy
// `shadow`).
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
