// e^x, 2^x and 10^x.
#pragma once

#include "numbers.h"

namespace assay_mathematics {

// e^r 2^k for |r| <= log(2) / 2: the Taylor series to r^13 / 13!. What is left out is below 0.35^14 / 14! = 2^-57 of the sum, and so are
// the roundings of the terms from r^2 / 2 on.
inline double exponential(Pair r, int k) {
  const double x = r.high;
  double q = one_over(6227020800);  // 13!
  q = __builtin_fma(q, x, one_over(479001600));
  q = __builtin_fma(q, x, one_over(39916800));
  q = __builtin_fma(q, x, one_over(3628800));
  q = __builtin_fma(q, x, one_over(362880));
  q = __builtin_fma(q, x, one_over(40320));
  q = __builtin_fma(q, x, one_over(5040));
  q = __builtin_fma(q, x, one_over(720));
  q = __builtin_fma(q, x, one_over(120));
  q = __builtin_fma(q, x, one_over(24));
  q = __builtin_fma(q, x, one_over(6));
  q = __builtin_fma(q, x, one_over(2));
  const Pair above_one = ordered_sum(x, __builtin_fma(x * x, q, r.low));
  const Pair all = ordered_sum(1, above_one.high);
  return scaled(all.high + (all.low + above_one.low), k);
}

// Beyond these, every type of Metal overflows, or becomes 0.
constexpr int most_powers_of_two = 1000;

// x = k log(2) + r. Both products with k are exact or far below the last place.
inline double exp(double x) {
  if (x != x) return x;
  if (x > 700) return infinity();
  if (x < -700) return 0;
  const double k = __builtin_rint(x * one_over_log_of_2().high);
  const double first = __builtin_fma(-k, log_of_2().high, x);
  return exponential(sum(first, -k * log_of_2().low), static_cast<int>(k));
}

// 2^(k + f) for a whole k and |f| <= 1/2, f.low far below f.high. Exact for f = 0.
inline double power_of_two(double k, Pair f) { return exponential(product(f, nearest_log_of_2()), static_cast<int>(k)); }

inline double exp2(double x) {
  if (x != x) return x;
  if (x > most_powers_of_two) return infinity();
  if (x < -most_powers_of_two) return 0;
  const double k = __builtin_rint(x);
  return power_of_two(k, {x - k, 0});
}

// x log(10) = k log(2) + r.
inline double exp10(double x) {
  if (x != x) return x;
  if (x > 300) return infinity();
  if (x < -300) return 0;
  const double k = __builtin_rint(x * binary_log_of_10());
  const Pair natural = product({x, 0}, log_of_10());
  const Pair first = sum(__builtin_fma(-k, log_of_2().high, natural.high), -k * log_of_2().low);
  return exponential({first.high, first.low + natural.low}, static_cast<int>(k));
}

}  // namespace assay_mathematics
