// Doubles for the functions of this folder: bits, sums and products as pairs, coefficients.
//
// The folder computes Metal's library functions for targets without a C library. Arguments are numbers of float (or narrower types) as
// doubles, and results have errors of a few units in the last place of a double: rounded to float, they are the number nearest to the exact
// result, but for one argument in 10^7 (which lies within these units of the middle between two floats). Exact results are exact, so that
// ties round as they should.
//
// The functions use + - * / fma, square roots and bits only, which every machine rounds alike. The headers are C++ for OpenCL and plain
// C++: a test compiles them for the host and compares them with math/. Literals without a suffix are float in the first of these dialects,
// so all that occur here are exact in float.
#pragma once

namespace assay_mathematics {

// An unevaluated sum. `high` is the nearest double to it unless a function says otherwise.
struct Pair {
  double high;
  double low;
};

inline double from_bits(unsigned long bits) { return __builtin_bit_cast(double, bits); }
inline unsigned long bits_of(double x) { return __builtin_bit_cast(unsigned long, x); }
inline bool is_negative(double x) { return (bits_of(x) >> 63) != 0; }
inline double infinity() { return from_bits(0x7ff0000000000000ul); }
inline double invalid() { return from_bits(0x7ff8000000000000ul); }
inline bool is_finite(double x) { return __builtin_fabs(x) < infinity(); }

// 1 / n, rounded; the compiler evaluates it. All n of this folder are exact doubles.
inline double one_over(long n) { return 1 / static_cast<double>(n); }

// a + b exactly, where |a| >= |b| or a is 0 (Dekker).
inline Pair ordered_sum(double a, double b) {
  const double high = a + b;
  return {high, (a - high) + b};
}
// a + b exactly (Knuth).
inline Pair sum(double a, double b) {
  const double high = a + b;
  const double shift = high - a;
  return {high, (a - (high - shift)) + (b - shift)};
}
// a b exactly.
inline Pair product(double a, double b) {
  const double high = a * b;
  return {high, __builtin_fma(a, b, -high)};
}
// a b with some 100 bits.
inline Pair product(Pair a, Pair b) {
  const Pair p = product(a.high, b.high);
  return {p.high, p.low + (a.high * b.low + a.low * b.high)};
}

// x 2^k. The results of this folder's callers become floats, so that far below their range 0 does as well.
inline double scaled(double x, int k) {
  if (k > 1000) return x * infinity();
  if (k < -1000) return 0;
  return x * from_bits(static_cast<unsigned long>(k + 1023) << 52);
}

// log(2), the first double of 33 bits: its products with whole numbers below 2^20 are exact.
inline Pair log_of_2() { return {from_bits(0x3fe62e42fef00000ul), from_bits(0x3dd473de6af278edul)}; }
// The same, the first double being the nearest.
inline Pair nearest_log_of_2() { return {from_bits(0x3fe62e42fefa39eful), from_bits(0x3c7abc9e3b39803ful)}; }
inline Pair log_of_10() { return {from_bits(0x40026bb1bbb55516ul), from_bits(0xbcaf48ad494ea3e9ul)}; }
inline Pair one_over_log_of_2() { return {from_bits(0x3ff71547652b82feul), from_bits(0x3c7777d0ffda0d24ul)}; }
inline Pair one_over_log_of_10() { return {from_bits(0x3fdbcb7b1526e50eul), from_bits(0x3c695355baaafad3ul)}; }
// The logarithm to base 10 of 2, the first double of 33 bits.
inline Pair decimal_log_of_2() { return {from_bits(0x3fd3441350900000ul), from_bits(0x3dcef3fde623e256ul)}; }
inline double binary_log_of_10() { return from_bits(0x400a934f0979a371ul); }
inline Pair pi() { return {from_bits(0x400921fb54442d18ul), from_bits(0x3ca1a62633145c07ul)}; }
inline Pair half_pi() { return {from_bits(0x3ff921fb54442d18ul), from_bits(0x3c91a62633145c07ul)}; }

}  // namespace assay_mathematics
