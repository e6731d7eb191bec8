// metal/shader/nvptx/mathematics/, compiled for this machine: the bits that the simulator computes with math/.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "math/kernel_functions.h"
#include "metal/shader/nvptx/mathematics/exponential.h"
#include "metal/shader/nvptx/mathematics/hyperbolic.h"
#include "metal/shader/nvptx/mathematics/logarithm.h"
#include "metal/shader/nvptx/mathematics/remainder.h"
#include "metal/shader/nvptx/mathematics/trigonometric.h"

namespace assay::tests::device_mathematics_test {
namespace {

namespace device = assay_mathematics;

struct Unary {
  const char* name;
  double (*on_device)(double);
  double (*of_simulator)(double);
  float low, high;  // where most of the samples lie
};
#define ASSAY_UNARY(name, low, high) \
  Unary { #name, device::name, assay_math_##name, low, high }
const Unary kUnary[] = {
    ASSAY_UNARY(exp, -104, 89),    ASSAY_UNARY(exp2, -150, 128), ASSAY_UNARY(exp10, -46, 39),   ASSAY_UNARY(log, 0, 100),
    ASSAY_UNARY(log2, 0, 100),     ASSAY_UNARY(log10, 0, 100),   ASSAY_UNARY(sin, -1000, 1000), ASSAY_UNARY(cos, -1000, 1000),
    ASSAY_UNARY(tan, -1000, 1000), ASSAY_UNARY(asin, -1, 1),     ASSAY_UNARY(acos, -1, 1),      ASSAY_UNARY(atan, -20, 20),
    ASSAY_UNARY(sinh, -90, 90),    ASSAY_UNARY(cosh, -90, 90),   ASSAY_UNARY(tanh, -10, 10),    ASSAY_UNARY(asinh, -100, 100),
    ASSAY_UNARY(acosh, 1, 100),    ASSAY_UNARY(atanh, -1, 1),
};
#undef ASSAY_UNARY

struct Binary {
  const char* name;
  double (*on_device)(double, double);
  double (*of_simulator)(double, double);
};
double fmod_of_library(double x, double y) { return std::fmod(x, y); }
const Binary kBinary[] = {
    {"pow", device::pow, assay_math_pow}, {"atan2", device::atan2, assay_math_atan2}, {"fmod", device::fmod, fmod_of_library}};

constexpr int kSamples = 500'000;  // of each of two kinds

// As a kernel's float, and as its half.
template <typename Number>
bool is_same(double a, double b) {
  const auto x = static_cast<Number>(a);
  const auto y = static_cast<Number>(b);
  if (x != x || y != y) return x != x && y != y;
  return x == y && std::signbit(static_cast<float>(x)) == std::signbit(static_cast<float>(y));
}

float any_float(std::mt19937& random) { return std::bit_cast<float>(static_cast<std::uint32_t>(random())); }

// What the functions treat apart, and numbers beside it.
std::vector<float> special_values() {
  std::vector<float> values;
  for (const float value : {0.0F,
                            0x1p-149F,
                            0x1p-126F,
                            0x1p-30F,
                            0x1p-25F,
                            0x1p-24F,
                            0x1p-12F,
                            0x1p-5F,
                            0.1F,
                            0.25F,
                            0.5F,
                            0.75F,
                            1.0F,
                            1.5F,
                            2.0F,
                            2.5F,
                            3.0F,
                            4.0F,
                            5.0F,
                            7.0F,
                            10.0F,
                            15.0F,
                            16.0F,
                            20.0F,
                            0x1.921fb6p+0F,
                            0x1.921fb6p+1F,
                            88.0F,
                            89.0F,
                            100.0F,
                            126.0F,
                            127.0F,
                            128.0F,
                            149.0F,
                            150.0F,
                            1000.0F,
                            0x1p20F,
                            0x1p24F,
                            0x1p53F,
                            0x1p100F,
                            std::numeric_limits<float>::max(),
                            std::numeric_limits<float>::infinity()}) {
    for (const float near : {value, std::nextafter(value, 0.0F), std::nextafter(value, std::numeric_limits<float>::infinity())}) {
      values.push_back(near);
      values.push_back(-near);
    }
  }
  values.push_back(std::numeric_limits<float>::quiet_NaN());
  return values;
}

std::string difference(const char* name, float x, float y, double device, double simulator) {
  return fmt::format("{}({:a}, {:a}): {:a} on the device, {:a} on the simulator", name, x, y, device, simulator);
}

class DeviceMathematics : public testing::TestWithParam<Unary> {
 protected:
  static void compare(float x) {
    const Unary& function = GetParam();
    const double device = function.on_device(x);
    const double simulator = function.of_simulator(x);
    ASSERT_TRUE(is_same<float>(device, simulator)) << difference(function.name, x, 0, device, simulator);
  }
};

TEST_P(DeviceMathematics, FloatsOfTheSimulator) {
  std::mt19937 random(20);
  std::uniform_real_distribution<float> usual(GetParam().low, GetParam().high);
  for (int sample = 0; sample < kSamples; ++sample) ASSERT_NO_FATAL_FAILURE(compare(usual(random)));
  for (int sample = 0; sample < kSamples; ++sample) ASSERT_NO_FATAL_FAILURE(compare(any_float(random)));
  for (const float value : special_values()) ASSERT_NO_FATAL_FAILURE(compare(value));
}

TEST_P(DeviceMathematics, EveryHalfOfTheSimulator) {
  for (std::uint32_t bits = 0; bits <= std::numeric_limits<std::uint16_t>::max(); ++bits) {
    const auto x = static_cast<double>(std::bit_cast<_Float16>(static_cast<std::uint16_t>(bits)));
    const double device = GetParam().on_device(x);
    const double simulator = GetParam().of_simulator(x);
    ASSERT_TRUE(is_same<_Float16>(device, simulator)) << difference(GetParam().name, static_cast<float>(x), 0, device, simulator);
  }
}

INSTANTIATE_TEST_SUITE_P(Function, DeviceMathematics, testing::ValuesIn(kUnary),
                         [](const testing::TestParamInfo<Unary>& info) { return std::string(info.param.name); });

class DeviceMathematicsOfTwo : public testing::TestWithParam<Binary> {
 protected:
  static void compare(float x, float y) {
    const Binary& function = GetParam();
    const double device = function.on_device(x, y);
    const double simulator = function.of_simulator(x, y);
    ASSERT_TRUE(is_same<float>(device, simulator)) << difference(function.name, x, y, device, simulator);
  }
};

TEST_P(DeviceMathematicsOfTwo, FloatsOfTheSimulator) {
  std::mt19937 random(20);
  std::uniform_real_distribution<float> first(-10, 10);
  std::uniform_real_distribution<float> second(-20, 20);
  for (int sample = 0; sample < kSamples; ++sample) {
    const float x = first(random);
    ASSERT_NO_FATAL_FAILURE(compare(sample % 2 == 0 ? x : std::abs(x), second(random)));
  }
  for (int sample = 0; sample < kSamples; ++sample) ASSERT_NO_FATAL_FAILURE(compare(any_float(random), any_float(random)));
  for (const float x : special_values()) {
    for (const float y : special_values()) ASSERT_NO_FATAL_FAILURE(compare(x, y));
  }
}

// Powers that lie in the middle between two floats: numbers of few bits, small exponents, quarters of them too.
TEST_P(DeviceMathematicsOfTwo, NumbersOfFewBits) {
  for (int bits = 1; bits < 1 << 13; ++bits) {
    for (int quarters = -64; quarters <= 64; ++quarters) {
      for (const float scale : {1.0F, 0x1p-8F, 0x1p-13F})
        ASSERT_NO_FATAL_FAILURE(compare(static_cast<float>(bits) * scale, static_cast<float>(quarters) * 0.25F));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Function, DeviceMathematicsOfTwo, testing::ValuesIn(kBinary),
                         [](const testing::TestParamInfo<Binary>& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace assay::tests::device_mathematics_test
