// math/: the fast evaluation, of one element and of 32, rounds as the C library's double with MPFR behind it does, for every float.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <dlfcn.h>
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "math/exact_value.h"
#include "math/kernel_functions.h"
#include "math/library_functions.h"

namespace assay::tests::math_batch_test {
namespace {

constexpr std::size_t kElements = 32;

struct alignas(64) Elements : std::array<double, kElements> {};

struct Unary {
  const char* name;
  void (*batch)(const double*, double*);
  double (*scalar)(double);
  double (*library)(double);
  math::ExactFunction1 exact;
};
struct Binary {
  const char* name;
  void (*batch)(const double*, const double*, double*);
  double (*scalar)(double, double);
  double (*library)(double, double);
};
#define ASSAY_UNARY(name) Unary{#name, assay_math_batch_##name, assay_math_##name, math::library::name, mpfr_##name},
#define ASSAY_BINARY(name) Binary{#name, assay_math_batch_##name, assay_math_##name, math::library::name},
constexpr Unary kUnary[] = {ASSAY_MATH_KERNEL_FUNCTIONS_1(ASSAY_UNARY)};
constexpr Binary kBinary[] = {ASSAY_MATH_KERNEL_FUNCTIONS_2(ASSAY_BINARY)};

// Equal for two doubles if and only if every rounding to 24 bits or fewer is, that to a subnormal float or to a half included: the numbers
// of 25 bits are all the numbers of fewer bits, and the middles between them. What every such rounding makes zero or infinity counts as
// that.
constexpr std::uint64_t kGrid = std::uint64_t{1} << 28;
std::uint64_t place(double value) {
  if (std::isnan(value)) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  if (std::abs(value) < 0x1p-151) value = std::copysign(0.0, value);
  if (std::abs(value) >= 0x1p129) value = std::copysign(std::numeric_limits<double>::infinity(), value);
  const auto bits = std::bit_cast<std::uint64_t>(value);
  return bits / kGrid * 2 + (bits % kGrid != 0 ? 1 : 0);
}

// The nearest number of a format, ties to even.
struct Format {
  const char* name;
  int digits, lowest, highest;  // bits of the significand; exponents of the smallest normal number and of the largest one
};
constexpr Format kFormats[] = {{"float", 24, -126, 127}, {"half", 11, -14, 15}, {"bfloat", 8, -126, 127}};
double rounded(double value, const Format& format) {
  if (!std::isfinite(value) || value == 0.0) return std::isnan(value) ? static_cast<float>(value) : value;
  const double unit = std::ldexp(1.0, std::max(std::ilogb(value), format.lowest) - format.digits + 1);
  const double result = std::nearbyint(value / unit) * unit;
  return std::abs(result) < std::ldexp(1.0, format.highest + 1) ? result : std::copysign(std::numeric_limits<double>::infinity(), value);
}

bool is_same(double a, double b) {
  const auto x = std::bit_cast<std::uint64_t>(a), y = std::bit_cast<std::uint64_t>(b);
  const bool is_near = (x ^ y) < kGrid && (x % kGrid == 0) == (y % kGrid == 0);  // nearly always, and fast
  return is_near || place(a) == place(b);
}

void require_same(const char* name, double x, double y, double found, double expected) {
  if (!is_same(found, expected)) FAIL() << fmt::format("{}({:a}, {:a}) = {:a} instead of {:a}", name, x, y, found, expected);
}

void compare(const Unary& function, const Elements& x) {
  Elements results;
  function.batch(x.data(), results.data());
  for (std::size_t i = 0; i < kElements; ++i) {
    const double expected = function.library(x[i]);
    require_same(function.name, x[i], 0, results[i], expected);
    require_same(function.name, x[i], 0, function.scalar(x[i]), expected);
  }
}
void compare(const Binary& function, const Elements& x, const Elements& y) {
  Elements results;
  function.batch(x.data(), y.data(), results.data());
  for (std::size_t i = 0; i < kElements; ++i) {
    const double expected = function.library(x[i], y[i]);
    require_same(function.name, x[i], y[i], results[i], expected);
    require_same(function.name, x[i], y[i], function.scalar(x[i], y[i]), expected);
  }
}

double float_of(std::uint64_t bits) { return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits))); }

// Floats at equal distances in their encoding.
constexpr std::uint64_t kFloats = std::uint64_t{1} << 32;
void compare_floats(const Unary& function, std::uint64_t from, std::uint64_t to, std::uint64_t distance) {
  for (std::uint64_t first = from; first < to; first += kElements * distance) {
    Elements x;
    for (std::size_t i = 0; i < kElements; ++i) x[i] = float_of(first + i * distance);
    ASSERT_NO_FATAL_FAILURE(compare(function, x));
  }
}

// The ends of every exponent.
std::vector<double> extreme_floats() {
  std::vector<double> floats;
  for (std::uint64_t upper = 0; upper < 512; ++upper) {
    for (const std::uint64_t mantissa : {0, 1, 2, 3, 0x400000, 0x7ffffd, 0x7ffffe, 0x7fffff})
      floats.push_back(float_of(upper << 23 | mantissa));
  }
  return floats;
}

class MathBatch : public testing::TestWithParam<Unary> {};

TEST_P(MathBatch, FloatsOfEveryKind) {
  ASSERT_NO_FATAL_FAILURE(compare_floats(GetParam(), 0, kFloats, 16381));
  const std::vector<double> floats = extreme_floats();
  for (std::size_t first = 0; first < floats.size(); first += kElements) {
    Elements x;
    std::copy_n(&floats[first], kElements, x.begin());
    ASSERT_NO_FATAL_FAILURE(compare(GetParam(), x));
  }
}

// The other tests compare with the C library's way.
TEST_P(MathBatch, TheCLibrarysWayIsThatOfMpfr) {
  const Unary& function = GetParam();
  for (const double x : extreme_floats()) {
    if (std::isinf(x)) continue;  // tanh of it rounds as the double below 1 does, which comes out
    const double exact = math::to_odd(function.exact, x);
    if (std::isnan(exact)) {
      ASSERT_TRUE(std::isnan(function.library(x))) << function.name << x;
    } else {
      ASSERT_NO_FATAL_FAILURE(require_same(function.name, x, 0, function.library(x), exact));
    }
  }
}

// The doubles next to multiples of pi / 2, where most of an argument cancels.
TEST(MathBatches, QuarterTurns) {
  for (const Unary& function : {ASSAY_UNARY(sin) ASSAY_UNARY(cos) ASSAY_UNARY(tan)}) {
    for (int turns = 1; turns < 640'000; turns += turns < 126 ? 1 : 5525) {  // 204551 among them, which comes nearest
      const auto angle = static_cast<double>(static_cast<long double>(turns) * (std::numbers::pi_v<long double> / 2));
      Elements x;
      for (std::size_t i = 0; i < kElements; ++i) x[i] = std::bit_cast<double>(std::bit_cast<std::uint64_t>(angle) + i - kElements / 2);
      if (turns % 2 != 0) std::ranges::transform(x, x.begin(), std::negate());
      ASSERT_NO_FATAL_FAILURE(compare(function, x));
    }
  }
}

TEST_P(MathBatch, EveryHalfAndBfloat) {
  const Unary& function = GetParam();
  constexpr std::uint32_t kNumbers = 1U << 16;
  for (std::uint32_t first = 0; first < 2 * kNumbers; first += kElements) {
    Elements x, results;
    for (std::size_t i = 0; i < kElements; ++i) {
      const auto bits = static_cast<std::uint32_t>((first + i) % kNumbers);
      x[i] = first < kNumbers ? static_cast<float>(std::bit_cast<_Float16>(static_cast<std::uint16_t>(bits))) : float_of(bits << 16);
    }
    function.batch(x.data(), results.data());
    for (std::size_t i = 0; i < kElements; ++i) {
      const double expected = function.library(x[i]);
      for (const Format& format : kFormats) {
        ASSERT_EQ(std::bit_cast<std::uint64_t>(rounded(results[i], format)), std::bit_cast<std::uint64_t>(rounded(expected, format)))
            << fmt::format("{}({:a}) as {}: {:a} instead of {:a}", function.name, x[i], format.name, results[i], expected);
      }
    }
  }
}

// Any bits: subnormal doubles, signalling NaNs, huge numbers.
TEST_P(MathBatch, AnyDoubles) {
  std::mt19937_64 random(30);
  for (int batch = 0; batch < 500; ++batch) {
    Elements x;
    for (double& value : x) value = std::bit_cast<double>(static_cast<std::uint64_t>(random()));
    if (batch % 2 == 0) {
      for (double& value : x) value = std::copysign(std::exp2(std::fmod(std::abs(value), 16.0) - 8.0), value);
    }
    ASSERT_NO_FATAL_FAILURE(compare(GetParam(), x));
  }
}

TEST_P(MathBatch, ResultsMayReplaceArgumentsAndNeighboursDoNotMatter) {
  Elements x, apart, alone;
  for (std::size_t i = 0; i < kElements; ++i) x[i] = 0.03 * static_cast<double>(i);
  x[3] = std::numeric_limits<double>::signaling_NaN();
  x[7] = -std::numeric_limits<double>::infinity();
  GetParam().batch(x.data(), apart.data());
  for (std::size_t i = 0; i < kElements; ++i) {
    alone.fill(-1e300);
    alone[i] = x[i];
    GetParam().batch(alone.data(), alone.data());
    EXPECT_EQ(std::bit_cast<std::uint64_t>(alone[i]), std::bit_cast<std::uint64_t>(apart[i])) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Function, MathBatch, testing::ValuesIn(kUnary), [](const auto& info) { return std::string(info.param.name); });

class MathBatchOfTwo : public testing::TestWithParam<Binary> {};

TEST_P(MathBatchOfTwo, FloatsOfEveryKind) {
  std::mt19937_64 random(31);
  std::uniform_real_distribution<double> usual(-20, 20);
  for (int batch = 0; batch < 8000; ++batch) {
    Elements x, y;
    for (std::size_t i = 0; i < kElements; ++i) {
      x[i] = batch % 4 == 0 ? float_of(random() >> 32) : static_cast<double>(static_cast<float>(usual(random)));
      y[i] = batch % 8 == 0 ? float_of(random() >> 32) : static_cast<double>(static_cast<float>(usual(random)));
      if (batch % 3 == 0) x[i] = std::abs(x[i]);
      if (batch % 5 == 0) y[i] = std::nearbyint(y[i]);
    }
    ASSERT_NO_FATAL_FAILURE(compare(GetParam(), x, y));
  }
}

// Powers that are floats or middles between two floats, and quotients that are.
TEST_P(MathBatchOfTwo, NumbersOfFewBits) {
  for (int bits = 0; bits < 1 << 9; ++bits) {
    for (int quarters = -64; quarters < 64; quarters += static_cast<int>(kElements)) {
      for (const double scale : {1.0, 0x1p-8, -0x1p-3}) {
        Elements x, y;
        for (std::size_t i = 0; i < kElements; ++i) {
          x[i] = bits * scale;
          y[i] = 0.25 * (quarters + static_cast<int>(i));
        }
        ASSERT_NO_FATAL_FAILURE(compare(GetParam(), x, y));
      }
    }
  }
}

TEST_P(MathBatchOfTwo, AnyDoubles) {
  std::mt19937_64 random(32);
  for (int batch = 0; batch < 500; ++batch) {
    Elements x, y;
    for (double& value : x) value = std::bit_cast<double>(static_cast<std::uint64_t>(random()));
    for (double& value : y) value = std::bit_cast<double>(static_cast<std::uint64_t>(random()));
    ASSERT_NO_FATAL_FAILURE(compare(GetParam(), x, y));
  }
}

INSTANTIATE_TEST_SUITE_P(Function, MathBatchOfTwo, testing::ValuesIn(kBinary),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(MathBatches, TheDynamicLinkerFindsThem) {
  for (const Unary& function : kUnary) EXPECT_NE(dlsym(RTLD_DEFAULT, fmt::format("assay_math_batch_{}", function.name).c_str()), nullptr);
  for (const Binary& function : kBinary) EXPECT_NE(dlsym(RTLD_DEFAULT, fmt::format("assay_math_batch_{}", function.name).c_str()), nullptr);
}

// All 2^32 floats, minutes per function, which CI leaves out. Each function has a suite for every quarter, because of ctest's limit.
struct Quarter {
  Unary function;
  std::uint64_t number;
};
class MathOfEveryFloat : public testing::TestWithParam<Quarter> {};

TEST_P(MathOfEveryFloat, RoundsAsTheCLibraryWithMpfr) {
  const auto& [function, number] = GetParam();
  compare_floats(function, number * (kFloats / 4), (number + 1) * (kFloats / 4), 1);
}

#define ASSAY_QUARTER(name, quarter) \
  INSTANTIATE_TEST_SUITE_P(name##_##quarter, MathOfEveryFloat, testing::Values(Quarter{ASSAY_UNARY(name) quarter}));
#define ASSAY_EVERY_FLOAT(name) ASSAY_QUARTER(name, 0) ASSAY_QUARTER(name, 1) ASSAY_QUARTER(name, 2) ASSAY_QUARTER(name, 3)
ASSAY_MATH_KERNEL_FUNCTIONS_1(ASSAY_EVERY_FLOAT)

}  // namespace
}  // namespace assay::tests::math_batch_test
