// Error bounds of arithmetic, and conversions between formats.
#include "oracles/arithmetic.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>

#include "oracles/metal_accuracy.h"

namespace assay::oracles {

double gamma(double m, double unit) {
  const double product = m * unit;
  if (!(product >= 0.0 && product < 1.0)) {
    throw std::domain_error(fmt::format("gamma({}) is undefined for a unit roundoff of {}: their product must be below 1", m, unit));
  }
  return product / (1.0 - product);
}

const ArithmeticProfile& simulator_profile() {
  static constexpr ArithmeticProfile profile{.name = "simulator",
                                             .eta = 0x1p-149,
                                             .eta_add = 0.0,
                                             .exp_error = 1.0,
                                             .exp_error_per_unit = 0.0,
                                             .rsqrt_error = 1.0,
                                             .divide_error = 1.0,
                                             .reciprocal_error = 1.0,
                                             .tanh_error = 1.0,
                                             .tanh_absolute = 0.0,
                                             .log_error = 1.0,
                                             .log_absolute = 0.0,
                                             .sqrt_error = 1.0,
                                             .pow_error = 1.0,
                                             .pow_error_per_unit = 0.0,
                                             .simd_sum_more = 0,
                                             .may_contract = false};
  return profile;
}

namespace {

// The largest error of a function in units of u. A kernel compiled for fast mathematics may call precise functions too.
constexpr double units_of(std::string_view function, MetalMath mode) {
  const double precise = accuracy_of(function, MetalMath::precise).ulp;
  return 2.0 * (mode == MetalMath::fast ? std::max(precise, accuracy_of(function, mode).ulp) : precise);
}
constexpr double units_per_unit_of(std::string_view function, MetalMath mode) { return 2.0 * accuracy_of(function, mode).ulp_per_unit; }
constexpr double absolute_units_of(std::string_view function, MetalMath mode) { return accuracy_of(function, mode).absolute / kFloatUnit; }

// Kernels compute e^x as exp(x), or as exp2(x log2(e)), whose argument is larger.
constexpr double exp_units_per_unit_of(MetalMath mode) {
  return std::max(units_per_unit_of("exp", mode), units_per_unit_of("exp2", mode) * std::numbers::log2e);
}

// x^y = 2^e, e = y log2(x), |e| <= 8: the error of exp2, and in its exponent the rounding of the product and the error of log2, which
// counts at most |e| times where it is relative and |y| times where it is absolute.
constexpr double kSlopeExponent = 8.0;
constexpr double pow_units_of(MetalMath mode) {
  if (!accuracy_of("pow", mode).is_formula()) return units_of("pow", mode);
  const double of_exp2 = units_of("exp2", mode) + units_per_unit_of("exp2", mode) * kSlopeExponent;
  return std::max(units_of("pow", MetalMath::precise), of_exp2 + std::numbers::ln2 * kSlopeExponent * (units_of("log2", mode) + 1.0));
}
constexpr double pow_units_per_unit_of(MetalMath mode) {
  return accuracy_of("pow", mode).is_formula() ? std::numbers::ln2 * absolute_units_of("log2", mode) : 0.0;
}

// Where the table has a formula (README.md, "Profiles").
constexpr double sqrt_units_of(MetalMath mode) {
  return accuracy_of("sqrt", mode).is_formula() ? units_of("rsqrt", mode) + 1.0 : units_of("sqrt", mode);  // x rsqrt(x)
}
constexpr double tanh_absolute_of(MetalMath mode) { return accuracy_of("tanh", mode).is_formula() ? 24.0 : 0.0; }

constexpr ArithmeticProfile profile_of(const char* name, MetalMath mode) {
  return {.name = name,
          .eta = kFlushedFloat,
          .eta_add = kFlushedFloat,
          .exp_error = std::max(units_of("exp", mode), units_of("exp2", mode)),
          .exp_error_per_unit = exp_units_per_unit_of(mode),
          .rsqrt_error = units_of("rsqrt", mode),
          .divide_error = units_of("x / y", mode),
          .reciprocal_error = units_of("1 / x", mode),
          .tanh_error = units_of("tanh", mode),
          .tanh_absolute = tanh_absolute_of(mode),
          .log_error = std::max(units_of("log", mode), units_of("log2", mode)),
          .log_absolute = std::max(absolute_units_of("log", mode), absolute_units_of("log2", mode)),
          .sqrt_error = sqrt_units_of(mode),
          .pow_error = pow_units_of(mode),
          .pow_error_per_unit = pow_units_per_unit_of(mode),
          .simd_sum_more = kSimdSumChain - kSimdSumTree,
          .may_contract = kMayContract};
}

}  // namespace

const ArithmeticProfile& metal_profile() {
  static constexpr ArithmeticProfile profile = profile_of("metal", MetalMath::precise);
  return profile;
}

const ArithmeticProfile& metal_fast_profile() {
  static constexpr ArithmeticProfile profile = profile_of("metal_fast", MetalMath::fast);
  return profile;
}

std::span<const std::string_view> profile_names() {
  static constexpr std::array<std::string_view, 3> names = {"simulator", "metal", "metal_fast"};
  return names;
}

const ArithmeticProfile& profile_named(std::string_view name) {
  for (const ArithmeticProfile* profile : {&simulator_profile(), &metal_profile(), &metal_fast_profile()}) {
    if (name == profile->name) return *profile;
  }
  throw std::invalid_argument(fmt::format("'{}' is not a profile; the profiles are {}", name, fmt::join(profile_names(), ", ")));
}

double OutputFormat::unit() const { return std::ldexp(1.0, -significant_bits); }

double OutputFormat::widen(double value, double bound) const {
  if (significant_bits >= 24) return bound;
  return bound + unit() * (std::abs(value) + bound) + 0.5 * smallest_subnormal;
}

const OutputFormat& float_format() {
  static constexpr OutputFormat format{"float", 24, 0x1p-149};
  return format;
}
const OutputFormat& half_format() {
  static constexpr OutputFormat format{"half", 11, 0x1p-24};
  return format;
}
const OutputFormat& bfloat_format() {
  static constexpr OutputFormat format{"bfloat", 8, 0x1p-133};
  return format;
}

double round_to_half(double value) {
  const double size = std::abs(value);
  if (!(size < 65520.0)) return std::isnan(value) ? value : std::copysign(std::numeric_limits<double>::infinity(), value);
  // Below 2^-14 halves are 2^-24 apart; nearbyint rounds to even under the default rounding mode.
  if (size < 0x1p-14) return std::nearbyint(value * 0x1p24) * 0x1p-24;
  // 10 of the 52 places behind the point stay. Half of the last kept place, less one if that place is even; a carry runs into the
  // exponent as it should.
  constexpr int kDropped = 42;
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t half = (std::uint64_t{1} << (kDropped - 1)) - 1U + ((bits >> kDropped) & 1U);
  return std::bit_cast<double>((bits + half) >> kDropped << kDropped);
}

double half_value(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1f;
  const std::uint64_t fraction = bits & 0x3ffU;
  // The exponent of a half is biased by 15, that of a double by 1023.
  double size = exponent == 0 ? static_cast<double>(fraction) * 0x1p-24
                              : std::bit_cast<double>((static_cast<std::uint64_t>(exponent) + 1008) << 52U | fraction << 42U);
  if (exponent == 0x1f) {
    size = (bits & 0x3ff) != 0 ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  }
  return (bits & 0x8000) != 0 ? -size : size;
}

}  // namespace assay::oracles
