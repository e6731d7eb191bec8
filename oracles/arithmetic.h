// The arithmetic that bounds assume: unit roundoffs, errors of elementary functions, underflow, output formats.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace assay::oracles {

// Unit roundoff of float, round to nearest: half the distance from 1 to the next float.
inline constexpr double kFloatUnit = 0x1p-24;

// gamma(m) = m u / (1 - m u): |theta| <= gamma(m) for a product of m factors (1 + delta_i)^(+-1) with |delta_i| <= u
// (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., lemma 3.1). `m` is in units of u and need not be
// whole, so that an elementary function of several ulp counts as that many roundings. Throws std::domain_error if m u >= 1.
[[nodiscard]] double gamma(double m, double unit = kFloatUnit);

// Deviations from correct rounding in float that are allowed to the machine under test. Errors are relative, in units of u (an ulp is 2u).
struct ArithmeticProfile {
  const char* name;
  double eta;                 // largest absolute error of a product, quotient or exp whose result (or operand) is subnormal
  double eta_add;             // of a sum: 0 where subnormals are kept, because sums below 2^-126 are then exact
  double exp_error;           // of exp(x) ...
  double exp_error_per_unit;  // ... plus this times |x|
  double rsqrt_error;         // of rsqrt(x)
  double divide_error;        // of x / y
  double reciprocal_error;    // of 1 / x
  double tanh_error;          // of tanh(x) ...
  double tanh_absolute;       // ... plus this, absolute in units of u
  double log_error;           // of log(x) and log2(x) ...
  double log_absolute;        // ... plus this, absolute in units of u
  double sqrt_error;          // of sqrt(x)
  double pow_error;           // of a power of two or of a number below 1, x^y = 2^e with |e| <= 8 (slopes of ALiBi) ...
  double pow_error_per_unit;  // ... plus this times |y|
  std::size_t simd_sum_more;  // roundings of a simd_sum beyond the five of a tree, which a declared depth of sums counts
  bool may_contract;          // whether a product may be fused with a sum, so that a difference of equal products need not be 0

  // A declared depth of sums (`dot_depth`) on this device.
  [[nodiscard]] std::size_t depth_of(std::size_t declared) const { return declared + simd_sum_more; }
};

// The simulator of metal/: keeps subnormals; exp, rsqrt and division are correctly rounded.
[[nodiscard]] const ArithmeticProfile& simulator_profile();
// The Metal Shading Language Specification with precise mathematics. Its errors are those of the table in oracles/metal_accuracy.h.
[[nodiscard]] const ArithmeticProfile& metal_profile();
// The same with fast mathematics.
[[nodiscard]] const ArithmeticProfile& metal_fast_profile();

// "simulator", "metal", "metal_fast".
[[nodiscard]] std::span<const std::string_view> profile_names();
// Throws std::invalid_argument for any other name.
[[nodiscard]] const ArithmeticProfile& profile_named(std::string_view name);

// The type that a kernel stores its output in; converting a float to it is the last rounding.
struct OutputFormat {
  const char* name;
  int significant_bits;       // 24 float, 11 half, 8 bfloat
  double smallest_subnormal;  // spacing of the numbers around zero

  // Unit roundoff: half the distance from 1 to the next number.
  [[nodiscard]] double unit() const;

  // Adds the error of that conversion to the bound of a float result. Float itself adds nothing, because storing it is exact.
  [[nodiscard]] double widen(double value, double bound) const;
};
[[nodiscard]] const OutputFormat& float_format();
[[nodiscard]] const OutputFormat& half_format();
[[nodiscard]] const OutputFormat& bfloat_format();

// `value` rounded to IEEE binary16, nearest even, subnormals kept; infinite from 65520 on.
[[nodiscard]] double round_to_half(double value);

// The values of stored bits.
[[nodiscard]] double half_value(std::uint16_t bits);
// Defined inline, like the next one, because they are called for every element of every key.
[[nodiscard]] inline double bfloat_value(std::uint16_t bits) {
  return static_cast<double>(std::bit_cast<float>(std::uint32_t{bits} << 16U));
}

// A float rounded to bfloat, nearest even, subnormals kept; NaN stays NaN.
[[nodiscard]] inline double round_to_bfloat(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<double>(value);
  // Half of the last kept place, less one if that place is even; a carry runs into the exponent as it should.
  const std::uint32_t rounded = bits + 0x7fffU + ((bits >> 16U) & 1U);
  return bfloat_value(static_cast<std::uint16_t>(rounded >> 16U));
}

}  // namespace assay::oracles
