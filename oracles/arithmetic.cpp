// Error bounds of arithmetic, and conversions between formats.
#include "oracles/arithmetic.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

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
                                             .log_absolute = 0.0};
  return profile;
}

const ArithmeticProfile& metal_profile() {
  static constexpr ArithmeticProfile profile{.name = "metal",
                                             .eta = 0x1p-126,
                                             .eta_add = 0x1p-126,
                                             .exp_error = 8.0,
                                             .exp_error_per_unit = 0.0,
                                             .rsqrt_error = 4.0,
                                             .divide_error = 1.0,
                                             .reciprocal_error = 1.0,
                                             .tanh_error = 10.0,
                                             .tanh_absolute = 0.0,
                                             .log_error = 8.0,
                                             .log_absolute = 0.0};
  return profile;
}

const ArithmeticProfile& metal_fast_profile() {
  static constexpr ArithmeticProfile profile{.name = "metal_fast",
                                             .eta = 0x1p-126,
                                             .eta_add = 0x1p-126,
                                             .exp_error = 6.0,
                                             .exp_error_per_unit = 4.0,
                                             .rsqrt_error = 4.0,
                                             .divide_error = 5.0,
                                             .reciprocal_error = 2.0,
                                             .tanh_error = 10.0,
                                             .tanh_absolute = 24.0,
                                             .log_error = 8.0,
                                             .log_absolute = 8.0};
  return profile;
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
  const double fraction = static_cast<double>(bits & 0x3ff);
  double size = std::ldexp(exponent == 0 ? fraction : fraction + 1024.0, std::max(exponent, 1) - 25);
  if (exponent == 0x1f) {
    size = (bits & 0x3ff) != 0 ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  }
  return (bits & 0x8000) != 0 ? -size : size;
}

}  // namespace assay::oracles
