// Logarithms to the bases e, 2 and 10, and powers.
#pragma once

#include "exponential.h"
#include "numbers.h"

namespace assay_mathematics {

// x = 2^exponent m, and the logarithm of m as a pair with some 60 bits.
struct Logarithm {
  int exponent;
  Pair of_mantissa;
};

// For normal positive x, m in [sqrt(1/2), sqrt(2)]: log(m) = 2 (s + s^3/3 + s^5/5 + ...) with s = (m - 1) / (m + 1), |s| < 0.172. What is
// left out from s^25 on is below 2^-65 of the sum. `s_low` is what the division leaves, m + 1 being rounded as well.
inline Logarithm logarithm(double x) {
  const unsigned long bits = bits_of(x);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  double m = from_bits((bits & 0xffffffffffffful) | 0x3ff0000000000000ul);
  if (m > from_bits(0x3ff6a09e667f3bcdul)) {  // sqrt(2)
    m *= 0.5;
    ++exponent;
  }
  const double numerator = m - 1;
  const Pair denominator = sum(m, 1);
  const double s = numerator / denominator.high;
  const double left = __builtin_fma(-s, denominator.low, __builtin_fma(-s, denominator.high, numerator));
  const double s_low = left / denominator.high;
  const double z = s * s;
  double p = one_over(23);
  p = __builtin_fma(p, z, one_over(21));
  p = __builtin_fma(p, z, one_over(19));
  p = __builtin_fma(p, z, one_over(17));
  p = __builtin_fma(p, z, one_over(15));
  p = __builtin_fma(p, z, one_over(13));
  p = __builtin_fma(p, z, one_over(11));
  p = __builtin_fma(p, z, one_over(9));
  p = __builtin_fma(p, z, one_over(7));
  p = __builtin_fma(p, z, one_over(5));
  p = __builtin_fma(p, z, one_over(3));
  return {exponent, ordered_sum(2 * s, 2 * __builtin_fma(s * z, p, s_low))};
}

// k unit + pair, where the product of k and the first part of the unit is exact.
inline Pair plus_multiple(int k, Pair unit, Pair pair) {
  const double count = k;
  const Pair first = sum(count * unit.high, pair.high);
  return ordered_sum(first.high, first.low + (pair.low + count * unit.low));
}

// Arguments without a finite logarithm.
inline bool has_logarithm(double x) { return x > 0 && x < infinity(); }
inline double logarithm_outside(double x) { return x == 0 ? -infinity() : x < 0 ? invalid() : x; }

inline double log(double x) {
  if (!has_logarithm(x)) return logarithm_outside(x);
  const Logarithm l = logarithm(x);
  return plus_multiple(l.exponent, log_of_2(), l.of_mantissa).high;
}
inline Pair binary_logarithm(double x) {
  const Logarithm l = logarithm(x);
  return plus_multiple(l.exponent, {1, 0}, product(l.of_mantissa, one_over_log_of_2()));
}
inline double log2(double x) { return has_logarithm(x) ? binary_logarithm(x).high : logarithm_outside(x); }
inline double log10(double x) {
  if (!has_logarithm(x)) return logarithm_outside(x);
  const Logarithm l = logarithm(x);
  return plus_multiple(l.exponent, decimal_log_of_2(), product(l.of_mantissa, one_over_log_of_10())).high;
}

// x^n for n > 0, exact where 53 bits hold it.
inline double whole_power(double x, int n) {
  double result = 1;
  for (; n != 0; n >>= 1) {
    if ((n & 1) != 0) result *= x;
    x *= x;
  }
  return result;
}

// Where x^y for finite x > 0 lies exactly in the middle between two numbers of float or half, it has 25 bits or fewer: x is a power of a
// number of three bits or more by 2^n, y = p / 2^q with p < 16 and q < 4, because 3^16 has 26 bits. Returns whether it is such a power.
inline bool is_exact_power(double x, double y, Pair& root_and_exponent) {
  double exponent = y;
  double root = x;
  for (int q = 0; q < 3 && __builtin_rint(exponent) != exponent; ++q) {
    const double next = __builtin_sqrt(root);
    if (next * next != root || __builtin_fma(next, next, -root) != 0) return false;
    root = next;
    exponent *= 2;
  }
  root_and_exponent = {root, exponent};
  return __builtin_rint(exponent) == exponent && exponent > 0 && exponent < 16;
}

// x^y for finite x > 0 and finite y: 2^(y log2(x)).
inline double positive_power(double x, double y) {
  Pair exact = {0, 0};
  if (is_exact_power(x, y, exact)) return whole_power(exact.high, static_cast<int>(exact.low));
  const Pair l = binary_logarithm(x);
  const Pair p = product(l, {y, 0});
  if (p.high > most_powers_of_two) return infinity();
  if (p.high < -most_powers_of_two) return 0;
  const double k = __builtin_rint(p.high);
  return power_of_two(k, {p.high - k, p.low});
}

// The cases of C's pow.
inline double pow(double x, double y) {
  if (y == 0 || x == 1) return 1;
  if (x != x || y != y) return invalid();
  const double size = __builtin_fabs(x);
  const bool is_whole = __builtin_fabs(y) >= 0x1p53f || __builtin_rint(y) == y;
  const bool is_odd = is_whole && __builtin_fabs(y) < 0x1p53f && __builtin_rint(y / 2) * 2 != y;
  double result = 0;
  if (!is_finite(y)) {
    result = size == 1 ? 1 : (size > 1) == (y > 0) ? infinity() : 0;
  } else if (size == 0 || !is_finite(size)) {
    result = (size == 0) == (y > 0) ? 0 : infinity();
  } else if (is_negative(x) && !is_whole) {
    return invalid();
  } else {
    result = positive_power(size, y);
  }
  return is_negative(x) && is_odd ? -result : result;
}

}  // namespace assay_mathematics
