// Rounding and error constants, against the compiler's own half and against definitions.
#include "oracles/arithmetic.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace assay::tests::oracle_arithmetic_test {
namespace {

double half_value(std::uint16_t bits) { return static_cast<double>(std::bit_cast<_Float16>(bits)); }

TEST(OracleArithmetic, RoundToHalfKeepsEveryHalf) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const double value = half_value(static_cast<std::uint16_t>(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(oracles::round_to_half(value)));
    } else {
      ASSERT_EQ(oracles::round_to_half(value), value) << bits;
      ASSERT_EQ(std::signbit(oracles::round_to_half(value)), std::signbit(value)) << bits;
    }
  }
}

TEST(OracleArithmetic, RoundToHalfAgreesWithTheHardwareTypeAroundEveryBoundary) {
  for (std::uint16_t bits = 0; bits < 0x7bff; ++bits) {
    const auto middle = static_cast<float>((half_value(bits) + half_value(static_cast<std::uint16_t>(bits + 1))) / 2.0);
    for (const float x : {std::nextafter(middle, 0.0F), middle, std::nextafter(middle, 1e9F)}) {
      ASSERT_EQ(oracles::round_to_half(static_cast<double>(x)), static_cast<double>(static_cast<_Float16>(x))) << x;
      ASSERT_EQ(oracles::round_to_half(-static_cast<double>(x)), static_cast<double>(static_cast<_Float16>(-x))) << x;
    }
  }
}

TEST(OracleArithmetic, RoundToHalfOverflowsAt65520) {
  EXPECT_EQ(oracles::round_to_half(65519.999), 65504.0);
  EXPECT_EQ(oracles::round_to_half(65520.0), std::numeric_limits<double>::infinity());
  EXPECT_EQ(oracles::round_to_half(-1e300), -std::numeric_limits<double>::infinity());
}

TEST(OracleArithmetic, GammaBoundsAProductOfFactors) {
  EXPECT_EQ(oracles::gamma(0), 0.0);
  const double u = oracles::kFloatUnit;
  EXPECT_DOUBLE_EQ(oracles::gamma(1), u / (1 - u));
  // (1 + u)^m - 1 and (1 - u)^-m - 1 are the extremes.
  for (const double m : {1.0, 2.0, 100.0, 1e6}) {
    EXPECT_GE(oracles::gamma(m), std::expm1(m * std::log1p(u)));
    EXPECT_GE(oracles::gamma(m), std::expm1(-m * std::log1p(-u)));
  }
  EXPECT_THROW((void)oracles::gamma(0x1p24), std::domain_error);
  EXPECT_THROW((void)oracles::gamma(-1), std::domain_error);
}

TEST(OracleArithmetic, StoringAFloatAsFloatAddsNothingAsBfloatHalfASpacing) {
  EXPECT_EQ(oracles::float_format().widen(3.0, 0.25), 0.25);
  EXPECT_NEAR(oracles::bfloat_format().widen(1.0, 0.0), 0x1p-8, 1e-30);
  EXPECT_NEAR(oracles::half_format().widen(1.0, 0.0), 0x1p-11, 0x1p-25);
  // What is below the smallest subnormal may become 0.
  EXPECT_GE(oracles::half_format().widen(0x1p-25, 0.0), 0x1p-25);
}

}  // namespace
}  // namespace assay::tests::oracle_arithmetic_test
