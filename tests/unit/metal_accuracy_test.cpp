// The table of Metal's accuracy: it has every function, the profiles follow from it, and README.md shows the same figures.
#include "oracles/metal_accuracy.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <numbers>
#include <regex>
#include <set>
#include <string>
#include <string_view>

#include "oracles/arithmetic.h"
#include "oracles/fwht.h"
#include "oracles/quantize.h"
#include "tests/support/files.h"

namespace assay::tests::metal_accuracy_test {
namespace {

using namespace ::testing;
using namespace oracles;

constexpr double kUlp = 2.0;  // of float, in units of u

std::set<std::string> matches_of(const std::string& text, const std::string& pattern) {
  const std::regex expression(pattern);
  std::set<std::string> found;
  for (std::sregex_iterator i(text.begin(), text.end(), expression); i != std::sregex_iterator(); ++i) found.insert((*i)[1]);
  return found;
}

// The functions that <metal_math> offers to kernels, from the macro that declares them all.
std::set<std::string> offered_functions() {
  return matches_of(read_file(kRoot / "metal/shader/math.h"), R"(ASSAY_(?:UNARY|BINARY|TERNARY)(?:_TO|_OUT|_WITH)?\((\w+), )");
}

TEST(MetalAccuracy, EveryFunctionThatAKernelMayCallHasARow) {
  const std::set<std::string> offered = offered_functions();
  EXPECT_THAT(offered.size(), Gt(55U));
  EXPECT_THAT(offered, IsSupersetOf({"exp", "rsqrt", "tanh", "sincos", "ldexp", "ilogb", "median3"}));
  for (const std::string& function : offered) EXPECT_NE(find_accuracy(function), nullptr) << function;
  EXPECT_EQ(find_accuracy("no_such_function"), nullptr);
}

TEST(MetalAccuracy, EveryMathematicalFunctionThatOurKernelsCallHasARow) {
  const std::set<std::string> offered = offered_functions();
  std::set<std::string> called;
  for (const auto& file : std::filesystem::recursive_directory_iterator(kRoot / "kernels/variants")) {
    if (file.path().extension() != ".metal") continue;
    for (const std::string& word : matches_of(read_file(file.path()), R"(\b(?:precise::|fast::)?(\w+)\s*\()")) {
      if (offered.contains(word)) called.insert(word);
    }
    // A qualified function is one of the library, whatever the list above says.
    for (const std::string& word : matches_of(read_file(file.path()), R"(\b(?:precise|fast)::(\w+))")) called.insert(word);
  }
  EXPECT_THAT(called, IsSupersetOf({"exp", "rsqrt", "sqrt", "tanh", "pow", "max", "fma"}));
  for (const std::string& function : called) EXPECT_NE(find_accuracy(function), nullptr) << function;
}

TEST(MetalAccuracy, NoFunctionHasTwoRows) {
  std::set<std::string_view> names;
  for (const FunctionRow& row : kMetalAccuracy) EXPECT_TRUE(names.insert(row.function).second) << row.function;
}

// What is known for sure, as literals.
TEST(MetalAccuracy, ConfirmedFiguresAreThoseOfTheSpecification) {
  for (const FunctionRow& row : kMetalAccuracy) {
    if (row.half.is_formula()) continue;
    EXPECT_LE(row.half.ulp, 1.0) << row.function;
  }
  for (const std::string_view function : {"x / y", "1 / x", "divide", "sqrt"}) {
    EXPECT_EQ(accuracy_of(function, MetalMath::precise).ulp, 0.5) << function;
    EXPECT_TRUE(accuracy_of(function, MetalMath::precise).is_confirmed);
  }
  for (const std::string_view function : {"exp", "exp2"}) {
    EXPECT_EQ(accuracy_of(function, MetalMath::fast).ulp, 3.0);
    EXPECT_EQ(accuracy_of(function, MetalMath::fast).ulp_per_unit, 2.0);
  }
  for (const std::string_view function : {"log", "log2"}) {
    const FunctionAccuracy& fast = accuracy_of(function, MetalMath::fast);
    EXPECT_EQ(std::tuple(fast.ulp, fast.absolute, fast.low, fast.high), std::tuple(3.0, std::ldexp(1.0, -21), 0.5, 2.0));
  }
  const FunctionAccuracy& sine = accuracy_of("sin", MetalMath::fast);
  EXPECT_EQ(std::pair(sine.low, sine.high), std::pair(-static_cast<double>(3.14159274F), static_cast<double>(3.14159274F)));
  EXPECT_EQ(sine.ulp, kNoLimit) << "outside of the domain nothing is promised";
}

TEST(MetalAccuracy, TheProfilesFollowFromTheTable) {
  const ArithmeticProfile& metal = metal_profile();
  EXPECT_EQ(metal.exp_error, 4 * kUlp);
  EXPECT_EQ(metal.exp_error_per_unit, 0.0);
  EXPECT_EQ(metal.rsqrt_error, 2 * kUlp);
  EXPECT_EQ(std::tuple(metal.divide_error, metal.reciprocal_error, metal.sqrt_error), std::tuple(1.0, 1.0, 1.0));
  EXPECT_EQ(std::tuple(metal.tanh_error, metal.tanh_absolute), std::tuple(5 * kUlp, 0.0));
  EXPECT_EQ(std::tuple(metal.log_error, metal.log_absolute), std::tuple(4 * kUlp, 0.0));
  EXPECT_EQ(std::tuple(metal.pow_error, metal.pow_error_per_unit), std::tuple(16 * kUlp, 0.0));
  const ArithmeticProfile& fast = metal_fast_profile();
  EXPECT_EQ(fast.exp_error, 4 * kUlp) << "precise::exp may be called too";
  EXPECT_DOUBLE_EQ(fast.exp_error_per_unit, 2 * kUlp * std::numbers::log2e) << "exp2(x log2(e)) has the larger argument";
  EXPECT_EQ(std::tuple(fast.divide_error, fast.reciprocal_error), std::tuple(2.5 * kUlp, 2.5 * kUlp));
  EXPECT_EQ(fast.sqrt_error, 2 * kUlp + 1);
  EXPECT_EQ(std::tuple(fast.log_error, fast.log_absolute), std::tuple(4 * kUlp, 8.0));
  for (const ArithmeticProfile* profile : {&metal, &fast}) {
    EXPECT_EQ(std::tuple(profile->eta, profile->eta_add), std::tuple(0x1p-126, 0x1p-126));
    EXPECT_EQ(profile->depth_of(13), 39U) << "31 sums of a chain instead of 5 of a tree";
    EXPECT_TRUE(profile->may_contract);
  }
  EXPECT_EQ(simulator_profile().depth_of(13), 13U);
}

TEST(MetalAccuracy, ProfilesHaveNames) {
  for (const std::string_view name : profile_names()) EXPECT_EQ(profile_named(name).name, name);
  EXPECT_EQ(&profile_named("metal_fast"), &metal_fast_profile());
  EXPECT_THROW(static_cast<void>(profile_named("cuda")), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(profile_named("")), std::invalid_argument);
}

// tanh by its formula with the largest error that each step may have, against the profile's.
TEST(MetalAccuracy, TheAbsoluteErrorOfTanhCoversItsFormula) {
  const ArithmeticProfile& fast = metal_fast_profile();
  double largest = 0;
  for (double x = -20.0; x <= 20.0; x += 1.0 / 512) {
    const double exact = std::tanh(x);
    for (const double sign : {-1.0, 1.0}) {
      const double error = (3.0 + std::floor(4.0 * std::abs(x))) * kUlp * kFloatUnit;
      const double t = std::exp(2.0 * x) * (1.0 + sign * error);
      const double top = (t - 1.0) * (1.0 + sign * kFloatUnit);
      const double bottom = (t + 1.0) * (1.0 - sign * kFloatUnit);
      const double computed = top / bottom * (1.0 + sign * fast.divide_error * kFloatUnit);
      const double allowed = kFloatUnit * (fast.tanh_error * std::abs(exact) + fast.tanh_absolute);
      largest = std::max(largest, std::abs(computed - exact) / allowed);
    }
  }
  EXPECT_LE(largest, 1.0);
  EXPECT_GT(largest, 0.2) << "the figure is not a guess";
}

// A power by its formula, where log2 is off by its absolute error, for the slopes of up to 64 heads.
TEST(MetalAccuracy, TheErrorOfPowersCoversTheirFormula) {
  const ArithmeticProfile& fast = metal_fast_profile();
  double largest = 0;
  for (const int heads : {1, 2, 8, 12, 64}) {
    const double base = std::exp2(-8.0 / heads);
    for (int y = 1; y <= heads; ++y) {
      const double logarithm = std::log2(base);
      const double off = base >= 0.5 ? 0x1p-21 : 3 * kUlp * kFloatUnit * std::abs(logarithm);
      const double exponent = y * (logarithm + off) * (1.0 - kFloatUnit);
      const double computed = std::exp2(exponent) * (1.0 + (3.0 + std::floor(std::abs(2.0 * exponent))) * kUlp * kFloatUnit);
      const double exact = std::exp2(y * logarithm);
      largest = std::max(largest, (computed / exact - 1.0) / (kFloatUnit * (fast.pow_error + fast.pow_error_per_unit * y)));
    }
  }
  EXPECT_LE(largest, 1.0);
  EXPECT_GT(largest, 0.4);
}

// Two coordinates of one size: half of their transform is a difference of equal numbers. Scaled before the difference and fused with it,
// the difference is not 0, so a device that may contract may choose the index above.
TEST(MetalAccuracy, ContractionEndsThePromiseOfExactZeros) {
  const float a = 1.1F;
  const float scale = static_cast<float>(1.0 / std::sqrt(512.0));
  EXPECT_EQ(a * scale - a * scale, 0.0F);
  EXPECT_NE(std::fma(a, scale, -(a * scale)), 0.0F);

  std::vector<float> row(512);
  row[0] = row[1] = a;
  const QuantizeShape shape{.kv_heads = 1, .head_dim = 512, .bits = 4, .scale_factor_d512 = 16.0F};
  const auto uncertain = [&](const ArithmeticProfile& profile) {
    const QuantizedToken token = quantize(shape, row, 0, profile);
    std::size_t count = 0;
    for (std::size_t i = 0; i < token.lowest.size(); ++i) count += token.lowest[i] != token.highest[i] ? 1 : 0;
    return count;
  };
  EXPECT_EQ(uncertain(simulator_profile()), 0U);
  EXPECT_EQ(uncertain(metal_profile()), 256U);
}

TEST(MetalAccuracy, ASquareRootByItsFormulaWidensNorms) {
  const std::vector<float> row(256, 0.25F);
  const QuantizeShape shape{.kv_heads = 1, .head_dim = 256, .bits = 4};
  const double metal = quantize(shape, row, 21, metal_profile()).norms.bound.front();
  ArithmeticProfile with_formula = metal_profile();
  with_formula.sqrt_error = metal_fast_profile().sqrt_error;
  EXPECT_GT(quantize(shape, row, 21, with_formula).norms.bound.front(), metal);
}

// One cell of the table in README.md.
std::string text_of(const FunctionAccuracy& accuracy) {
  const std::string mark = accuracy.is_confirmed ? "" : " ?";
  if (accuracy.is_formula()) return fmt::format("`{}`{}", accuracy.formula, mark);
  const auto number_of_ulps = [&] {
    if (accuracy.ulp == kNoLimit) return std::string("no limit");
    if (accuracy.ulp == 0.0) return std::string("exact");
    if (accuracy.ulp == 0.5) return std::string("rounded");
    return accuracy.ulp_per_unit == 0.0 ? fmt::format("{} ulp", accuracy.ulp)
                                        : fmt::format("{} + {} abs(x) ulp", accuracy.ulp, accuracy.ulp_per_unit);
  };
  if (accuracy.absolute == 0.0) return number_of_ulps() + mark;
  const std::string domain = accuracy.high > 3.0 ? "[-pi, pi]" : fmt::format("[{}, {}]", accuracy.low, accuracy.high);
  return fmt::format("2^{} in {}, else {}{}", std::log2(accuracy.absolute), domain, number_of_ulps(), mark);
}

TEST(MetalAccuracy, ThePageShowsTheTable) {
  const std::string page = read_file(kRoot / "oracles/PROFILES.md");
  for (const FunctionRow& row : kMetalAccuracy) {
    // Functions that are exact in every mode share a line.
    if (row.precise.ulp == 0.0 && !row.precise.is_formula()) {
      EXPECT_THAT(page, HasSubstr(fmt::format("`{}`", row.function)));
      continue;
    }
    EXPECT_THAT(page, HasSubstr(fmt::format("| `{}` | {} | {} | {} |\n", row.function, text_of(row.precise), text_of(row.fast),
                                            text_of(row.half))));
  }
}

}  // namespace
}  // namespace assay::tests::metal_accuracy_test
