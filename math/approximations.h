// The fast evaluation of functions for kernels: a double that is near enough to round it to a float, or a note that it is not.
//
// Everything here is one expression without branches, so that a compiler computes several elements at once. Only sums, products, quotients
// and square roots are used. Compilers may contract them, in which case the last bits of a value differ, but within the bound.
//
// Why the bound holds. Each function is reduced to a polynomial, the beginning of a known series: what is left out is below 2^-49 of the
// sum, for the longest argument. An operation adds 2^-53 of its result. In a polynomial, that of the later terms hardly counts; so do fewer
// than 25 roundings in all. No sum cancels more than two bits, because each reduction keeps apart what is small. So the relative error is
// below 25 * 4 * 2^-53 + 2^-49 < 2^-46. Angles and pow state their own bounds.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace assay::math {

// A result, and whether the caller has to find it in another way.
struct Approximation {
  double value;
  bool is_doubtful;
};

#define ASSAY_EACH_ELEMENT [[gnu::always_inline]] inline

namespace approximation {

ASSAY_EACH_ELEMENT std::uint64_t bits_of(double x) { return std::bit_cast<std::uint64_t>(x); }
ASSAY_EACH_ELEMENT double of_bits(std::uint64_t bits) { return std::bit_cast<double>(bits); }
ASSAY_EACH_ELEMENT double limited(double x, double low, double high) {
  const double above = x < low ? low : x;  // keeps NaN
  return above > high ? high : above;
}

// A kernel's number has at most 24 bits. Rounding a double to it is in doubt only if the double lies within its error of the middle
// between two floats, a multiple of 2^28 units in its last place. That is a middle between subnormal floats, or between halves, too.
inline constexpr std::uint64_t kGrid = std::uint64_t{1} << 28;
// A relative error of 2^-46 is at most 2^7 units.
inline constexpr std::uint64_t kUnits = 1U << 8;
ASSAY_EACH_ELEMENT bool is_near_middle(double value, std::uint64_t units = kUnits) {
  return ((bits_of(value) + units) & (kGrid - 1)) <= 2 * units;
}

// The polynomial of x with these coefficients, from the constant on: the even terms and the odd ones apart, which halves the time until the
// result is there.
ASSAY_EACH_ELEMENT double every_second(double /*square*/, double first) { return first; }
ASSAY_EACH_ELEMENT double every_second(double /*square*/, double first, double /*skipped*/) { return first; }
template <typename... Rest>
ASSAY_EACH_ELEMENT double every_second(double square, double first, double /*skipped*/, Rest... rest) {
  return first + square * every_second(square, rest...);
}
template <typename... Rest>
ASSAY_EACH_ELEMENT double polynomial(double x, double first, Rest... rest) {
  return every_second(x * x, first, rest...) + x * every_second(x * x, rest...);
}

// The nearest whole number, for |x| < 2^51. The lowest bits of `bits` are those of the number.
struct Whole {
  double value;
  std::uint64_t bits;
};
ASSAY_EACH_ELEMENT Whole whole(double x) {
  constexpr double kShift = 0x1.8p52;
  const double shifted = x + kShift;
  return {shifted - kShift, bits_of(shifted)};
}
// 2^k for -1022 <= k <= 1023.
ASSAY_EACH_ELEMENT double power_of_two(Whole k) { return of_bits((k.bits + 1023) << 52); }

// (e^r - 1) / r for |r| <= 0.347. The next term is below 2^-50.
ASSAY_EACH_ELEMENT double growth(double r) {
  return polynomial(r, 1.0, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800,
                    1.0 / 39916800, 1.0 / 479001600);
}

// x = k log(2) + r, for |x| <= 500: the product with the high part, of 42 bits, is exact.
struct Reduced {
  Whole k;
  double r;
};
ASSAY_EACH_ELEMENT Reduced reduce_exp(double x) {
  const Whole k = whole(x * std::numbers::log2e);
  return {k, (x - k.value * 0x1.62e42fefa38p-1) - k.value * 0x1.ef35793c7673p-45};
}

// e^x - 1 for 0 <= x <= 500. If k is not 0, the sum is above 0.4.
ASSAY_EACH_ELEMENT double expm1(double x) {
  const auto [k, r] = reduce_exp(x);
  const double scale = power_of_two(k);
  return scale * (r * growth(r)) + (scale - 1.0);
}

// x = 2^k m with m in [sqrt(1/2), sqrt(2)], for normal x > 0.
struct Scaled {
  double k;
  double m;
};
ASSAY_EACH_ELEMENT Scaled scale(double x) {
  constexpr std::uint64_t kLowest = 0x3fe6a09e667f3bcdU, kOne = 0x3ff0000000000000U, kMantissa = 0x000fffffffffffffU;
  const std::uint64_t shifted = bits_of(x) + (kOne - kLowest);
  // Puts the exponent into the lowest bits of 2^52.
  return {of_bits((shifted >> 52) | 0x4330000000000000U) - (0x1p52 + 1023), of_bits((shifted & kMantissa) + kLowest)};
}
// log(1 + d) / 2 by way of s = d / (2 + d), for 1 + d in [sqrt(1/2), sqrt(2)]: |s| <= 0.1716. The next term is below 2^-50; after
// those of s^18 and s^20, below 2^-60.
template <typename... More>
ASSAY_EACH_ELEMENT double half_log1p(double d, More... more) {
  const double s = d / (2.0 + d);
  const double z = s * s;
  return s * polynomial(z, 1.0, 1.0 / 3, 1.0 / 5, 1.0 / 7, 1.0 / 9, 1.0 / 11, 1.0 / 13, 1.0 / 15, 1.0 / 17, more...);
}
ASSAY_EACH_ELEMENT bool is_normal_and_positive(double x) { return (x >= 0x1p-1022) && (x <= 0x1.fffffffffffffp1023); }

// log(1 + z) for z >= 0: where 1 + z has lost bits of z, the series takes z itself.
ASSAY_EACH_ELEMENT double log1p(double z) {
  const auto [k, m] = scale(1.0 + z);
  const double d = k == 0.0 ? z : m - 1.0;
  return k * std::numbers::ln2 + 2.0 * half_log1p(d);
}

// x = k pi / 2 + r for |x| <= kLongestAngle. pi / 2 is split into 33 bits, 33 bits and 53 bits, so that the first two products are exact.
// The third one, and what is left out, make r wrong by k 2^-120. No double of this range lies nearer than k 2^-72 to k pi / 2 (k = 204551
// comes nearest), so that the relative error of r is below 2^-48. With 16 roundings, one cancelled bit and two polynomials it is below
// 2^-46.
inline constexpr double kLongestAngle = 1e6;
ASSAY_EACH_ELEMENT Reduced reduce_angle(double x) {
  const Whole k = whole(x * (2.0 / std::numbers::pi));
  return {k, ((x - k.value * 0x1.921fb544p0) - k.value * 0x1.0b4611a6p-34) - k.value * 0x1.3198a2e037073p-69};
}
// For |r| <= 0.786. The next terms are below 2^-53 of the sine and 2^-49 of the cosine.
ASSAY_EACH_ELEMENT double short_sin(double r) {
  const double z = r * r;
  return r * polynomial(z, 1.0, -1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800, 1.0 / 6227020800, -1.0 / 1307674368000);
}
ASSAY_EACH_ELEMENT double short_cos(double r) {
  const double z = r * r;
  return polynomial(z, 1.0, -1.0 / 2, 1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800, 1.0 / 479001600, -1.0 / 87178291200);
}
// The sine of r plus so many right angles.
ASSAY_EACH_ELEMENT double turned_sin(double r, std::uint64_t turns) {
  const double value = (turns & 1) != 0 ? short_cos(r) : short_sin(r);
  return of_bits(bits_of(value) ^ ((turns & 2) << 62));
}

// The angle whose tangent is a / b, for a, b >= 0. pi / 8 of it is left to a series of t with |t| <= 0.4143, whose next term is below
// 2^-51.
ASSAY_EACH_ELEMENT double angle(double a, double b) {
  constexpr double kEighth = std::numbers::sqrt2 - 1.0;
  const bool is_small = a <= kEighth * b, is_large = b <= kEighth * a;
  const double above = is_small ? a : is_large ? -b : a - b;
  const double below = is_small ? b : is_large ? a : a + b;
  const double start = is_small ? 0.0 : is_large ? std::numbers::pi / 2 : std::numbers::pi / 4;
  const double t = above / below;
  const double z = t * t;
  return start + t * polynomial(z, 1.0, -1.0 / 3, 1.0 / 5, -1.0 / 7, 1.0 / 9, -1.0 / 11, 1.0 / 13, -1.0 / 15, 1.0 / 17, -1.0 / 19, 1.0 / 21,
                                -1.0 / 23, 1.0 / 25, -1.0 / 27, 1.0 / 29, -1.0 / 31, 1.0 / 33, -1.0 / 35);
}

// Beyond the limits that follow, results are above the largest float, or below half of the smallest one, as the limit's is.

ASSAY_EACH_ELEMENT Approximation exp(double x) {
  const auto [k, r] = reduce_exp(limited(x, -200.0, 200.0));
  const double value = (1.0 + r * growth(r)) * power_of_two(k);
  return {value, (is_near_middle(value) && (x != 0.0)) || (x != x)};
}
ASSAY_EACH_ELEMENT Approximation exp2(double x) {
  const double bounded = limited(x, -300.0, 300.0);
  const Whole k = whole(bounded);
  const double r = (bounded - k.value) * std::numbers::ln2;
  const double value = (1.0 + r * growth(r)) * power_of_two(k);
  return {value, (is_near_middle(value) && (r != 0.0)) || (x != x)};
}
ASSAY_EACH_ELEMENT Approximation exp10(double x) {
  const double bounded = limited(x, -100.0, 100.0);
  const Whole k = whole(bounded * (std::numbers::ln10 * std::numbers::log2e));
  const double r = ((bounded - k.value * 0x1.34413509f78p-2) - k.value * 0x1.fef311f12b358p-46) * std::numbers::ln10;
  const double value = (1.0 + r * growth(r)) * power_of_two(k);
  return {value, (is_near_middle(value) && (x != 0.0)) || (x != x)};
}

// If k is not 0, k log(2) is at least twice as large as the rest.
ASSAY_EACH_ELEMENT Approximation log(double x) {
  const auto [k, m] = scale(x);
  const double value = k * std::numbers::ln2 + 2.0 * half_log1p(m - 1.0);
  return {value, (is_near_middle(value) && (x != 1.0)) || !is_normal_and_positive(x)};
}
ASSAY_EACH_ELEMENT Approximation log2(double x) {
  const auto [k, m] = scale(x);
  const double value = k + (2.0 * std::numbers::log2e) * half_log1p(m - 1.0);
  return {value, (is_near_middle(value) && (m != 1.0)) || !is_normal_and_positive(x)};
}
ASSAY_EACH_ELEMENT Approximation log10(double x) {
  const auto [k, m] = scale(x);
  const double value = k * (std::numbers::ln2 * std::numbers::log10e) + (2.0 * std::numbers::log10e) * half_log1p(m - 1.0);
  return {value, (is_near_middle(value) && (x != 1.0)) || !is_normal_and_positive(x)};
}

ASSAY_EACH_ELEMENT Approximation sin(double x) {
  const auto [k, r] = reduce_angle(x);
  const double value = turned_sin(r, k.bits);
  return {value, (is_near_middle(value) && (x != 0.0)) || !(std::abs(x) <= kLongestAngle)};
}
ASSAY_EACH_ELEMENT Approximation cos(double x) {
  const auto [k, r] = reduce_angle(x);
  const double value = turned_sin(r, k.bits + 1);
  return {value, (is_near_middle(value) && (x != 0.0)) || !(std::abs(x) <= kLongestAngle)};
}
ASSAY_EACH_ELEMENT Approximation tan(double x) {
  const auto [k, r] = reduce_angle(x);
  const bool is_odd = (k.bits & 1) != 0;
  const double sine = short_sin(r), cosine = short_cos(r);
  const double value = (is_odd ? -cosine : sine) / (is_odd ? sine : cosine);
  return {value, (is_near_middle(value) && (x != 0.0)) || !(std::abs(x) <= kLongestAngle)};
}

ASSAY_EACH_ELEMENT Approximation asin(double x) {
  const double a = std::abs(x);
  const double value = std::copysign(angle(a, std::sqrt((1.0 - a) * (1.0 + a))), x);
  return {value, (is_near_middle(value) && (x != 0.0)) || !(a <= 1.0)};
}
ASSAY_EACH_ELEMENT Approximation acos(double x) {
  const double a = std::abs(x);
  const double steep = angle(std::sqrt((1.0 - a) * (1.0 + a)), a);
  const double value = x < 0.0 ? std::numbers::pi - steep : steep;
  return {value, (is_near_middle(value) && (x != 1.0)) || !(a <= 1.0)};
}
ASSAY_EACH_ELEMENT Approximation atan(double x) {
  const double value = std::copysign(angle(std::abs(x), 1.0), x);
  return {value, (is_near_middle(value) && (x != 0.0)) || (x != x)};
}
ASSAY_EACH_ELEMENT Approximation atan2(double y, double x) {
  const double a = std::abs(y), b = std::abs(x);
  const double steep = angle(a, b);
  const double value = std::copysign(x < 0.0 ? std::numbers::pi - steep : steep, y);
  const bool is_usual = (a >= 0x1p-200) && (a <= 0x1p200) && (b >= 0x1p-200) && (b <= 0x1p200);
  return {value, is_near_middle(value) || !is_usual};
}

ASSAY_EACH_ELEMENT Approximation sinh(double x) {
  const double grown = expm1(limited(std::abs(x), 0.0, 200.0));
  const double value = std::copysign(0.5 * (grown + grown / (grown + 1.0)), x);
  return {value, (is_near_middle(value) && (x != 0.0)) || (x != x)};
}
ASSAY_EACH_ELEMENT Approximation cosh(double x) {
  const auto [k, r] = reduce_exp(limited(std::abs(x), 0.0, 200.0));
  const double power = (1.0 + r * growth(r)) * power_of_two(k);
  const double value = 0.5 * (power + 1.0 / power);
  return {value, (is_near_middle(value) && (x != 0.0)) || (x != x)};
}
// Above 12 it lies between 1 - 2^-33 and 1: every rounding gives what it gives at 12.
ASSAY_EACH_ELEMENT Approximation tanh(double x) {
  const double grown = expm1(2.0 * limited(std::abs(x), 0.0, 12.0));
  const double value = std::copysign(grown / (grown + 2.0), x);
  return {value, (is_near_middle(value) && (x != 0.0)) || (x != x)};
}

ASSAY_EACH_ELEMENT Approximation asinh(double x) {
  const double a = std::abs(x);
  const double value = std::copysign(log1p(a + a * a / (1.0 + std::sqrt(a * a + 1.0))), x);
  return {value, (is_near_middle(value) && (x != 0.0)) || !(a <= 0x1p200)};
}
ASSAY_EACH_ELEMENT Approximation acosh(double x) {
  const double d = x - 1.0;
  const double value = log1p(d + std::sqrt(d * (x + 1.0)));
  return {value, (is_near_middle(value) && (x != 1.0)) || !((x >= 1.0) && (x <= 0x1p200))};
}
ASSAY_EACH_ELEMENT Approximation atanh(double x) {
  const double a = std::abs(x);
  const double value = std::copysign(0.5 * log1p(2.0 * a / (1.0 - a)), x);
  return {value, (is_near_middle(value) && (x != 0.0)) || !(a < 1.0)};
}

// x^y is 2^e with e = y log2(x). Within the range of float, |e| <= 150, so that a relative error of e counts 150 log(2) times. log2(x) has
// at most 12 roundings and e one more: the relative error is below 13 * 2^-53 * 150 * log(2) + 2^-46 < 2^-42, or 2^11 units.
inline constexpr std::uint64_t kPowerUnits = 1U << 12;
ASSAY_EACH_ELEMENT Approximation pow(double x, double y) {
  const auto [scale_of_x, m] = scale(x);
  const double e = limited(y * (scale_of_x + (2.0 * std::numbers::log2e) * half_log1p(m - 1.0, 1.0 / 19, 1.0 / 21)), -300.0, 300.0);
  const Whole k = whole(e);
  const double r = (e - k.value) * std::numbers::ln2;
  const double value = (1.0 + r * growth(r)) * power_of_two(k);
  // 1, and whole powers of powers of two.
  const bool is_exact = (y == 0.0) || ((m == 1.0) && ((scale_of_x == 0.0) || (whole(y).value == y)));
  return {value, (is_near_middle(value, kPowerUnits) && !is_exact) || !is_normal_and_positive(x) || !(std::abs(y) <= 0x1p50)};
}

}  // namespace approximation
}  // namespace assay::math
