// Functions that compiled kernels call by these names. metal/shader/scalar_math.h declares them; the dynamic linker finds them in the
// program.
//
// Rounding the result of assay_math_<name> to 24 bits or fewer gives the same bits on every machine, and the number nearest to the exact
// value. Its own last bits are not guaranteed, which makes it faster than the C library; beyond the range of float, it may be any number
// beyond. assay_math_exact_<name> returns the nearest double, as in math/functions.h, for numbers that stay doubles (policy `shadow`).
//
// assay_math_batch_<name> evaluates assay_math_<name> for 32 arguments, for kernels whose lanes are vectors: each result rounds to the same
// bits, those of NaNs included. Every element is computed, whatever it holds, and affects no other; NaNs and other special arguments only
// take longer. The arrays are 64-byte aligned; the results may be where the arguments are.
#pragma once

#include "math/names.h"

extern "C" {
#define ASSAY_MATH_DECLARE_1(name)          \
  double assay_math_##name(double x);       \
  double assay_math_exact_##name(double x); \
  void assay_math_batch_##name(const double* x, double* results);
#define ASSAY_MATH_DECLARE_2(name)                    \
  double assay_math_##name(double x, double y);       \
  double assay_math_exact_##name(double x, double y); \
  void assay_math_batch_##name(const double* x, const double* y, double* results);
ASSAY_MATH_KERNEL_FUNCTIONS_1(ASSAY_MATH_DECLARE_1)
ASSAY_MATH_KERNEL_FUNCTIONS_2(ASSAY_MATH_DECLARE_2)
#undef ASSAY_MATH_DECLARE_1
#undef ASSAY_MATH_DECLARE_2
}
