// sin, cos, tan and their inverses.
#pragma once

#include "numbers.h"

namespace assay_mathematics {

// x = n pi / 2 + rest with |rest| <= pi / 4; n modulo 4.
struct Turned {
  int quadrant;
  Pair rest;
};

// pi / 2 in three parts, the first two of 33 bits. For |x| < 2^20, their products with n are exact. A float that is no multiple of pi / 2
// stays further from one than 2^-50 of itself, so the rest keeps its bits.
inline Turned turned_by_parts(double x) {
  const double n = __builtin_rint(x * from_bits(0x3fe45f306dc9c883ul));  // 2 / pi
  const double first = __builtin_fma(-n, from_bits(0x3ff921fb54400000ul), x);
  const Pair second = sum(first, -n * from_bits(0x3dd0b4611a600000ul));
  const Pair third = sum(second.high, second.low - n * from_bits(0x3ba3198a2e037073ul));
  return {static_cast<int>(static_cast<long>(n) & 3), third};
}

// Bits [first, first + 64) of 2 / pi, where bit 0 is the one below the binary point; first >= -64.
inline unsigned long bits_of_two_over_pi(int first) {
  const int at = first + 64;
  const int word = at / 64;
  const int shift = at % 64;
  unsigned long left = 0;
  unsigned long right = 0;
  switch (word) {
    case 0:
      right = 0xa2f9836e4e441529ul;
      break;
    case 1:
      left = 0xa2f9836e4e441529ul;
      right = 0xfc2757d1f534ddc0ul;
      break;
    case 2:
      left = 0xfc2757d1f534ddc0ul;
      right = 0xdb6295993c439041ul;
      break;
    case 3:
      left = 0xdb6295993c439041ul;
      right = 0xfe5163abdebbc561ul;
      break;
    default:
      left = 0xfe5163abdebbc561ul;
      right = 0xb7246e3a424dd2e0ul;
  }
  return shift == 0 ? left : left << shift | right >> (64 - shift);
}

// For a float of 2^20 and above (Payne and Hanek). x = m 2^e with a whole m of 24 bits. The bits of 2 / pi whose products with x are
// multiples of 4 are left out, and those behind the next 128: `turns` is 2 x / pi modulo 4 in units of 2^-126, with an error below 2^24
// units. A float stays further from multiples of pi / 2 than 2^-35, so some 65 bits of the rest are right.
inline Turned turned_by_bits(double x) {
  const unsigned long bits = bits_of(x);
  const int e = static_cast<int>(bits >> 52 & 2047) - 1023 - 23;
  const unsigned long m = ((bits & 0xffffffffffffful) | 0x10000000000000ul) >> 29;
  const unsigned __int128 window = static_cast<unsigned __int128>(bits_of_two_over_pi(e - 2)) << 64 | bits_of_two_over_pi(e + 62);
  const unsigned __int128 turns = window * m;
  const unsigned __int128 rounding = static_cast<unsigned __int128>(1) << 125;
  const int quadrant = static_cast<int>(static_cast<unsigned long>((turns + rounding) >> 126));
  const __int128 rest = static_cast<__int128>(turns - (static_cast<unsigned __int128>(quadrant) << 126));
  const long upper = static_cast<long>(rest >> 64);
  const unsigned long lower = static_cast<unsigned long>(rest);
  // Each half as a double and what is left of it, which is exact.
  const double high = static_cast<double>(upper);
  const double middle = static_cast<double>(upper - static_cast<long>(high));
  const double low = static_cast<double>(lower) * 0x1p-64f;
  const Pair units = sum(high, middle + low);  // of 2^-62
  const Pair turned = product({units.high * 0x1p-62f, units.low * 0x1p-62f}, half_pi());
  return is_negative(x) ? Turned{-quadrant & 3, {-turned.high, -turned.low}} : Turned{quadrant & 3, turned};
}

inline Turned turned(double x) { return __builtin_fabs(x) < 0x1p20f ? turned_by_parts(x) : turned_by_bits(x); }

// For |x| <= pi / 4: x - x^3/3! + ... to x^17 / 17!. What is left out is below 2^-63 of the sum.
inline double sine(Pair x) {
  const double z = x.high * x.high;
  double p = one_over(355687428096000);  // 17!
  p = __builtin_fma(p, z, -one_over(1307674368000));
  p = __builtin_fma(p, z, one_over(6227020800));
  p = __builtin_fma(p, z, -one_over(39916800));
  p = __builtin_fma(p, z, one_over(362880));
  p = __builtin_fma(p, z, -one_over(5040));
  p = __builtin_fma(p, z, one_over(120));
  p = __builtin_fma(p, z, -one_over(6));
  return x.high + __builtin_fma(x.high * z, p, x.low);
}
// 1 - x^2/2 + ... to x^18 / 18!. What is left out is below 2^-67. sin(x) takes the part of x.low.
inline double cosine(Pair x) {
  const double z = x.high * x.high;
  double p = -one_over(6402373705728000);  // 18!
  p = __builtin_fma(p, z, one_over(20922789888000));
  p = __builtin_fma(p, z, -one_over(87178291200));
  p = __builtin_fma(p, z, one_over(479001600));
  p = __builtin_fma(p, z, -one_over(3628800));
  p = __builtin_fma(p, z, one_over(40320));
  p = __builtin_fma(p, z, -one_over(720));
  p = __builtin_fma(p, z, one_over(24));
  const Pair first = ordered_sum(1, -z * 0.5);
  const double square_low = __builtin_fma(x.high, x.high, -z);
  return first.high + (first.low + (z * z * p - (x.high * x.low + square_low * 0.5)));
}

inline double sin(double x) {
  if (x == 0) return x;
  if (!is_finite(x)) return invalid();
  const Turned t = turned(x);
  const double value = (t.quadrant & 1) != 0 ? cosine(t.rest) : sine(t.rest);
  return (t.quadrant & 2) != 0 ? -value : value;
}
inline double cos(double x) {
  if (!is_finite(x)) return invalid();
  const Turned t = turned(x);
  const double value = (t.quadrant & 1) != 0 ? sine(t.rest) : cosine(t.rest);
  return ((t.quadrant + 1) & 2) != 0 ? -value : value;
}
inline double tan(double x) {
  if (x == 0) return x;
  if (!is_finite(x)) return invalid();
  const Turned t = turned(x);
  return (t.quadrant & 1) != 0 ? -cosine(t.rest) / sine(t.rest) : sine(t.rest) / cosine(t.rest);
}

// The arctangent for 0 <= x <= 1: atan(x) = 2 atan(x / (1 + sqrt(1 + x^2))), twice. Then x < 0.199, and the series x - x^3/3 + ... to
// x^23 / 23 leaves out less than 2^-60 of the sum.
inline double arctangent(double x) {
  const double first = x / (1 + __builtin_sqrt(__builtin_fma(x, x, 1)));
  const double t = first / (1 + __builtin_sqrt(__builtin_fma(first, first, 1)));
  const double z = t * t;
  double p = -one_over(23);
  p = __builtin_fma(p, z, one_over(21));
  p = __builtin_fma(p, z, -one_over(19));
  p = __builtin_fma(p, z, one_over(17));
  p = __builtin_fma(p, z, -one_over(15));
  p = __builtin_fma(p, z, one_over(13));
  p = __builtin_fma(p, z, -one_over(11));
  p = __builtin_fma(p, z, one_over(9));
  p = __builtin_fma(p, z, -one_over(7));
  p = __builtin_fma(p, z, one_over(5));
  p = __builtin_fma(p, z, -one_over(3));
  return 4 * __builtin_fma(t * z, p, t);
}

// The angle of the point (x, y), x and y not negative and not both 0 or infinite. The arctangent of a small quotient rounds to the
// quotient, which may lie in the middle between two floats. The arctangent is smaller.
inline double first_quadrant_angle(double y, double x) {
  const double quotient = y / x;
  if (quotient > 0 && quotient < 0x1p-28f) return from_bits(bits_of(quotient) - 1);
  if (y <= x) return arctangent(quotient);
  return half_pi().high - (arctangent(x / y) - half_pi().low);
}

inline double atan(double x) {
  if (x != x) return x;
  return __builtin_copysign(first_quadrant_angle(__builtin_fabs(x), 1), x);
}

// The cases of C's atan2.
inline double atan2(double y, double x) {
  if (x != x || y != y) return invalid();
  double right = __builtin_fabs(x);
  double up = __builtin_fabs(y);
  if (!is_finite(right) && !is_finite(up)) right = up = 1;
  const double angle = up == 0 ? 0 : first_quadrant_angle(up, right);
  return __builtin_copysign(is_negative(x) ? pi().high - (angle - pi().low) : angle, y);
}
inline double asin(double x) {
  if (!(__builtin_fabs(x) <= 1)) return invalid();
  return atan2(x, __builtin_sqrt((1 - x) * (1 + x)));
}
inline double acos(double x) {
  if (!(__builtin_fabs(x) <= 1)) return invalid();
  return 2 * atan2(__builtin_sqrt(1 - x), __builtin_sqrt(1 + x));
}

}  // namespace assay_mathematics
