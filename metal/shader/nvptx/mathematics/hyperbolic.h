// Hyperbolic functions and their inverses.
#pragma once

#include "exponential.h"
#include "logarithm.h"
#include "numbers.h"

namespace assay_mathematics {

// For |x| < 1: x + x^3/3! + ... to x^19 / 19!. What is left out is below 2^-65 of the sum.
inline double small_sinh(double x) {
  const double z = x * x;
  double p = one_over(121645100408832000);  // 19!, which has 16 factors of 2
  p = __builtin_fma(p, z, one_over(355687428096000));
  p = __builtin_fma(p, z, one_over(1307674368000));
  p = __builtin_fma(p, z, one_over(6227020800));
  p = __builtin_fma(p, z, one_over(39916800));
  p = __builtin_fma(p, z, one_over(362880));
  p = __builtin_fma(p, z, one_over(5040));
  p = __builtin_fma(p, z, one_over(120));
  p = __builtin_fma(p, z, one_over(6));
  return __builtin_fma(x * z, p, x);
}

inline double sinh(double x) {
  const double size = __builtin_fabs(x);
  if (size < 1) return small_sinh(x);
  const double power = exp(size);
  return __builtin_copysign((power - 1 / power) * 0.5, x);
}
inline double cosh(double x) {
  const double power = exp(__builtin_fabs(x));
  return (power + 1 / power) * 0.5;
}
inline double tanh(double x) {
  if (x != x) return x;
  const double size = __builtin_fabs(x);
  if (size < 1) return small_sinh(x) / cosh(x);
  return __builtin_copysign(1 - 2 / (exp(2 * size) + 1), x);
}

// log(1 + x) for x >= 0.
inline double log_above_one(double x) {
  if (!is_finite(x)) return x;
  const Pair all = ordered_sum(x > 1 ? x : 1, x > 1 ? 1 : x);
  return log(all.high) + all.low / all.high;
}

inline double asinh(double x) {
  const double size = __builtin_fabs(x);
  if (!is_finite(size)) return x;
  // asinh(x) = log(x + sqrt(x^2 + 1)); from 2^30 on it is log(2 x).
  const double value =
      size > 0x1p30f ? log(2 * size) : log_above_one(size + size * size / (1 + __builtin_sqrt(__builtin_fma(size, size, 1))));
  return __builtin_copysign(value, x);
}
inline double acosh(double x) {
  if (!(x >= 1)) return invalid();
  if (x > 0x1p30f) return log(2 * x);
  const double above = x - 1;
  return log_above_one(above + __builtin_sqrt(above * (x + 1)));
}
inline double atanh(double x) {
  const double size = __builtin_fabs(x);
  if (!(size <= 1)) return invalid();
  return __builtin_copysign(log_above_one(2 * size / (1 - size)) * 0.5, x);
}

}  // namespace assay_mathematics
