// math/: every result is the nearest one, as MPFR has it; the C library's are not, which shows that this test can tell.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <mpfr.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "math/functions.h"
#include "math/kernel_functions.h"

namespace assay::tests::math_functions_test {
namespace {

using Reference = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);
using Unary = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);

template <Unary function>
int of_first(mpfr_ptr result, mpfr_srcptr x, mpfr_srcptr, mpfr_rnd_t rounding) {
  return function(result, x, rounding);
}

struct Function {
  const char* name;
  double (*nearest)(double, double);
  double (*for_kernels)(double, double);  // null: kernels do not have it
  double (*library)(double, double);
  Reference reference;
  double low, high;  // of x; the second argument of pow and atan2 lies in -3 .. 3
};

#define ASSAY_UNARY(name, low, high)                                                                              \
  Function {                                                                                                      \
    #name, [](double x, double) { return math::name(x); }, [](double x, double) { return assay_math_##name(x); }, \
        [](double x, double) { return std::name(x); }, of_first<mpfr_##name>, low, high                           \
  }
#define ASSAY_BINARY(name, low, high)                                                                                       \
  Function {                                                                                                                \
    #name, [](double x, double y) { return math::name(x, y); }, [](double x, double y) { return assay_math_##name(x, y); }, \
        [](double x, double y) { return std::name(x, y); }, mpfr_##name, low, high                                          \
  }

const Function kFunctions[] = {
    ASSAY_UNARY(exp, -90, 90),
    ASSAY_UNARY(exp2, -140, 120),
    ASSAY_UNARY(log, 0, 1e6),
    ASSAY_UNARY(log2, 0, 1e6),
    ASSAY_UNARY(log10, 0, 1e6),
    ASSAY_UNARY(sin, -1e3, 1e3),
    ASSAY_UNARY(cos, -1e3, 1e3),
    ASSAY_UNARY(tan, -10, 10),
    ASSAY_UNARY(asin, -1, 1),
    ASSAY_UNARY(acos, -1, 1),
    ASSAY_UNARY(atan, -50, 50),
    ASSAY_UNARY(sinh, -80, 80),
    ASSAY_UNARY(cosh, -80, 80),
    ASSAY_UNARY(tanh, -4, 4),
    ASSAY_UNARY(asinh, -50, 50),
    ASSAY_UNARY(acosh, 1, 50),
    ASSAY_UNARY(atanh, -1, 1),
    ASSAY_BINARY(pow, 0, 20),
    ASSAY_BINARY(atan2, -5, 5),
    {"exp10", [](double x, double) { return math::exp10(x); }, [](double x, double) { return assay_math_exp10(x); },
     [](double x, double) { return ::exp10(x); }, of_first<mpfr_exp10>, -38, 38},
    {"expm1", [](double x, double) { return math::expm1(x); }, nullptr, [](double x, double) { return std::expm1(x); },
     of_first<mpfr_expm1>, -2, 2},
    {"erfc", [](double x, double) { return math::erfc(x); }, nullptr, [](double x, double) { return std::erfc(x); }, of_first<mpfr_erfc>,
     -3, 8},
};

// The nearest number of `bits` bits to the exact value.
double rounded(const Function& function, double x, double y, mpfr_prec_t bits) {
  mpfr_t a, b, result;
  mpfr_init2(a, 53);
  mpfr_init2(b, 53);
  mpfr_init2(result, bits);
  mpfr_set_d(a, x, MPFR_RNDN);
  mpfr_set_d(b, y, MPFR_RNDN);
  function.reference(result, a, b, MPFR_RNDN);
  const double value = mpfr_get_d(result, MPFR_RNDN);
  mpfr_clears(a, b, result, static_cast<mpfr_ptr>(nullptr));
  return value;
}

class MathFunction : public testing::TestWithParam<Function> {};

TEST_P(MathFunction, GivesTheNearestDouble) {
  const Function& function = GetParam();
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> first(function.low, function.high), second(-3, 3);
  int library_differs = 0;
  for (int i = 0; i < 3000; ++i) {
    const double x = i % 3 == 0 ? first(random) * 0x1p-12 + (function.low == 1.0 ? 1.0 : 0.0) : first(random);
    const double y = second(random);
    const double expected = rounded(function, x, y, 53);
    ASSERT_EQ(function.nearest(x, y), expected) << fmt::format("{}({:a}, {:a})", function.name, x, y);
    library_differs += function.library(x, y) != expected ? 1 : 0;
  }
  RecordProperty("library_differs", library_differs);
}

TEST_P(MathFunction, GivesKernelsTheNearestFloat) {
  const Function& function = GetParam();
  if (function.for_kernels == nullptr) GTEST_SKIP() << "Metal has no " << function.name;
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> first(function.low, function.high), second(-3, 3);
  for (int i = 0; i < 3000; ++i) {
    // Whole numbers and tiny ones among them, whose results lie at floats, or next to them.
    double x = first(random);
    if (i % 5 == 0) x = std::nearbyint(x);
    if (i % 5 == 1) x = std::ldexp(x, -30);
    x = static_cast<double>(static_cast<float>(x));
    const double y = i % 2 == 0 ? std::nearbyint(second(random)) : static_cast<double>(static_cast<float>(second(random)));
    if (function.low == 1.0 && x < 1.0) continue;
    const double found = function.for_kernels(x, y);
    const double exact = rounded(function, x, y, 53);
    if (!(std::abs(exact) > 1.2e-38 && std::abs(exact) < 3.4e38)) continue;
    ASSERT_EQ(static_cast<double>(static_cast<float>(found)), rounded(function, x, y, 24))
        << fmt::format("{}({:a}, {:a})", function.name, x, y);
  }
}

INSTANTIATE_TEST_SUITE_P(Math, MathFunction, testing::ValuesIn(kFunctions), [](const auto& info) { return info.param.name; });

TEST(MathFunctions, ExceptionsAreThoseOfTheCLibrary) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(math::exp(-infinity), 0.0);
  EXPECT_EQ(math::exp(infinity), infinity);
  EXPECT_EQ(math::exp(710.0), infinity);
  EXPECT_EQ(math::exp(-745.2), 0.0);
  EXPECT_EQ(math::exp(-745.1), 0x1p-1074);
  EXPECT_EQ(math::log(0.0), -infinity);
  EXPECT_EQ(std::bit_cast<std::uint64_t>(math::log(-1.0)), 0xfff8000000000000U);
  EXPECT_EQ(std::bit_cast<std::uint64_t>(assay_math_log(-1.0)), 0xfff8000000000000U);
  EXPECT_TRUE(std::isnan(math::exp(std::numeric_limits<double>::quiet_NaN())));
  EXPECT_TRUE(std::isnan(assay_math_pow(std::numeric_limits<double>::quiet_NaN(), 0.5)));
  EXPECT_TRUE(std::signbit(math::sin(-0.0)));
  EXPECT_EQ(static_cast<float>(assay_math_tanh(30.0)), 1.0F);
  EXPECT_LT(assay_math_tanh(30.0), 1.0) << "a further rounding must see that it is no exact 1";
  EXPECT_EQ(assay_math_exp2(-7.0), 0x1p-7);
  EXPECT_EQ(static_cast<float>(assay_math_exp(-1e4)), 0.0F);
  EXPECT_EQ(static_cast<float>(assay_math_exp(1e4)), std::numeric_limits<float>::infinity());
}

TEST(MathFunctions, TheCLibrarysAreNotTheNearest) {
  int differs = 0;
  for (int i = 1; i < 20000; ++i) differs += std::exp(-0.001 * i) != math::exp(-0.001 * i) ? 1 : 0;
  EXPECT_GT(differs, 0);
}

}  // namespace
}  // namespace assay::tests::math_functions_test
