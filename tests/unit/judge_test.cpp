// The comparator: every way a wrong output could slip through it, each with a twin that passes.
#include "harness/judge/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "metal/buffer.h"
#include "oracles/partials.h"

namespace assay::tests::judge_test {
namespace {

using harness::ElementFault;
using harness::Judgement;
using oracles::Expected;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();
const float kPoison = std::bit_cast<float>(metal::kPoisonWord);

// 100 elements j + 1 with a bound of 2^-20 each.
Expected ramp() {
  Expected expected;
  for (int j = 0; j < 100; ++j) {
    expected.value.push_back(j + 1.0);
    expected.bound.push_back(0x1p-20);
    expected.magnitude.push_back(j + 1.0);
  }
  return expected;
}

std::vector<float> exact(const Expected& expected) { return {expected.value.begin(), expected.value.end()}; }

Judgement judge_with(std::size_t index, float value) {
  const Expected expected = ramp();
  std::vector<float> actual = exact(expected);
  actual[index] = value;
  return harness::judge(actual, expected);
}

TEST(Judge, ExactOutputPasses) {
  const Judgement judgement = harness::judge(exact(ramp()), ramp());
  EXPECT_TRUE(judgement.passed());
  EXPECT_EQ(judgement.compared, 100U);
  EXPECT_EQ(judgement.distinct_expected, 100U);
  EXPECT_EQ(judgement.max_ratio, 0.0);
  EXPECT_EQ(judgement.nmse, 0.0);
  EXPECT_NEAR(judgement.cosine, 1.0, 1e-15);
  EXPECT_DOUBLE_EQ(judgement.median_bound_ratio, 0x1p-20 / 50.0);
}

TEST(Judge, DistinctValuesAreCountedExactly) {
  Expected expected;
  for (int j = 0; j < 10000; ++j) expected.value.push_back(j % 1700 * 0x1p-1060);  // subnormal ones differ too
  expected.value.insert(expected.value.end(), {-0.0, kInf, -kInf, kInf, std::numeric_limits<double>::quiet_NaN()});
  expected.bound.assign(expected.value.size(), 0.0);
  expected.magnitude.assign(expected.value.size(), 0.0);
  const std::vector<float> actual(expected.value.size(), 0.0F);
  EXPECT_EQ(harness::judge(actual, expected).distinct_expected, 1702U) << "0 and -0 are equal, and NaN is no value";
}

TEST(Judge, TheBoundItselfPassesAndTheNextValueFails) {
  EXPECT_TRUE(judge_with(0, 1.0F + 0x1p-20F).passed());
  const Judgement above = judge_with(0, std::nextafter(1.0F + 0x1p-20F, 2.0F));
  EXPECT_FALSE(above.passed());
  EXPECT_EQ(above.above_bound, 1U);
  EXPECT_GT(above.max_ratio, 1.0);
  EXPECT_EQ(above.max_ratio_index, 0U);
}

TEST(Judge, NanAndInfinityNeverPass) {
  const Judgement nan = judge_with(17, kNan);
  EXPECT_FALSE(nan.passed());
  EXPECT_EQ(nan.nans, 1U);
  EXPECT_EQ(nan.compared, 99U);
  EXPECT_EQ(nan.max_ratio, std::numeric_limits<double>::infinity());
  EXPECT_EQ(nan.max_ratio_index, 17U);
  EXPECT_FALSE(std::isnan(nan.nmse));
  EXPECT_FALSE(std::isnan(nan.cosine));
  for (const float value : {kInf, -kInf}) {
    const Judgement infinite = judge_with(3, value);
    EXPECT_FALSE(infinite.passed());
    EXPECT_EQ(infinite.infs, 1U);
    EXPECT_EQ(infinite.worst.front().fault, ElementFault::infinite);
  }
}

TEST(Judge, APoisonWordIsAnElementNeverWritten) {
  const Judgement judgement = judge_with(5, kPoison);
  EXPECT_FALSE(judgement.passed());
  EXPECT_EQ(judgement.not_written, 1U);
  EXPECT_EQ(judgement.nans, 0U);
  // Any other NaN, one bit away, was written.
  EXPECT_EQ(judge_with(5, std::bit_cast<float>(metal::kPoisonWord ^ 1U)).nans, 1U);
}

TEST(Judge, MergedOutputsAreJudgedTheSameInDouble) {
  const Expected expected = ramp();
  std::vector<double> actual = expected.value;
  EXPECT_TRUE(harness::judge(actual, expected).passed());
  actual[1] = oracles::widen_nan(metal::kPoisonWord);
  actual[2] = std::numeric_limits<double>::quiet_NaN();
  actual[3] += 0x1p-19;
  const Judgement judgement = harness::judge(actual, expected);
  EXPECT_EQ(judgement.not_written, 1U);
  EXPECT_EQ(judgement.nans, 1U);
  EXPECT_EQ(judgement.above_bound, 1U);
}

TEST(Judge, AnInfiniteBoundExcusesNoNan) {
  Expected expected = ramp();
  expected.bound[4] = std::numeric_limits<double>::infinity();
  std::vector<float> actual = exact(expected);
  actual[4] = kNan;
  EXPECT_FALSE(harness::judge(actual, expected).passed());
}

TEST(Judge, GuardWordsMustKeepThePoison) {
  const std::vector<std::uint32_t> intact(64, metal::kPoisonWord);
  std::vector<std::uint32_t> touched = intact;
  touched[63] = 0;
  EXPECT_TRUE(harness::judge(exact(ramp()), ramp(), {intact, intact}).passed());
  const Judgement before = harness::judge(exact(ramp()), ramp(), {touched, intact});
  EXPECT_FALSE(before.passed());
  EXPECT_EQ(before.guard_violations, 1U);
  EXPECT_EQ(harness::judge(exact(ramp()), ramp(), {intact, touched}).guard_violations, 1U);
}

TEST(Judge, ComparingNothingIsMistrusted) {
  const Judgement empty = harness::judge(std::vector<float>{}, Expected{});
  EXPECT_EQ(empty.mistrusted.value().why, harness::Distrust::nothing_to_compare);
  EXPECT_FALSE(empty.passed());
  const Judgement unwritten = harness::judge(std::vector<float>(100, kPoison), ramp());
  EXPECT_EQ(unwritten.mistrusted.value().why, harness::Distrust::none_comparable);
  EXPECT_FALSE(unwritten.passed());
}

TEST(Judge, OnlyConstantsAreMistrustedUnlessIntended) {
  Expected expected{std::vector<double>(50, 2.0), std::vector<double>(50, 1e-7), std::vector<double>(50, 2.0)};
  const std::vector<float> actual(50, 2.0F);
  EXPECT_EQ(harness::judge(actual, expected).mistrusted.value().why, harness::Distrust::constant_expectation);
  EXPECT_FALSE(harness::judge(actual, expected).passed());
  EXPECT_TRUE(harness::judge(actual, expected, {}, {.constant_is_expected = true}).passed());
  expected.value[7] = 1.0;
  std::vector<float> two = actual;
  two[7] = 1.0F;
  EXPECT_TRUE(harness::judge(two, expected).passed());
  // All zero is a constant too: a kernel that writes zeros must not pass an oracle that has lost its inputs.
  const Expected zeros{std::vector<double>(50, 0.0), std::vector<double>(50, 0.0), std::vector<double>(50, 0.0)};
  EXPECT_FALSE(harness::judge(std::vector<float>(50, 0.0F), zeros).passed());
}

// A bfloat below 2^-126 is stored with an error of up to half of 2^-133, whatever its magnitude.
TEST(Judge, ABoundWithinOneStepOfTheOutputFormatIsInformative) {
  Expected expected = ramp();
  for (std::size_t j = 0; j < expected.size(); ++j) {
    expected.value[j] = expected.magnitude[j] = 0x1p-130 * (1.0 + 0.01 * static_cast<double>(j));
    expected.bound[j] = 0x1.1p-134;
  }
  EXPECT_EQ(harness::judge(exact(expected), expected, {}, {.informative_ratio = 0x1p-4}).uninformative, 7U);
  EXPECT_TRUE(harness::judge(exact(expected), expected, {}, {.informative_ratio = 0x1p-4, .output_spacing = 0x1p-133}).passed());
  // Not if the bound is wider than a step, nor if it admits 0.
  for (const auto& [bound, magnitude] : {std::pair(0x1.1p-133, 0x1p-130), std::pair(0x1.1p-134, 0x1p-133)}) {
    for (std::size_t j = 0; j < expected.size(); ++j) {
      expected.bound[j] = bound;
      expected.magnitude[j] = magnitude;
    }
    EXPECT_EQ(harness::judge(exact(expected), expected, {}, {.informative_ratio = 0x1p-4, .output_spacing = 0x1p-133}).uninformative, 100U);
  }
}

TEST(Judge, MoreThanATenthUninformativeIsMistrusted) {
  Expected expected = ramp();
  for (std::size_t j = 0; j < 10; ++j) expected.bound[j] = 1.1e-3 * expected.magnitude[j];
  EXPECT_TRUE(harness::judge(exact(expected), expected).passed());
  expected.bound[10] = 1.1e-3 * expected.magnitude[10];
  const Judgement judgement = harness::judge(exact(expected), expected);
  EXPECT_EQ(judgement.uninformative, 11U);
  EXPECT_FALSE(judgement.passed());
  const harness::Mistrust why = judgement.mistrusted.value();
  EXPECT_EQ(why.why, harness::Distrust::uninformative);
  EXPECT_EQ(why.uninformative, 11U);
  EXPECT_EQ(why.elements, 100U);
  EXPECT_EQ(why.limit, 1e-3);
}

TEST(Judge, WorstElementsComeInOrderOfTheirRatio) {
  const Expected expected = ramp();
  std::vector<float> actual = exact(expected);
  actual[10] += 0x1p-18F;
  actual[20] += 0x1p-17F;
  actual[30] = kNan;
  actual[40] = kPoison;
  const Judgement judgement = harness::judge(actual, expected, {}, {.worst_count = 3});
  ASSERT_EQ(judgement.worst.size(), 3U);
  EXPECT_EQ(judgement.worst[0].index, 30U);
  EXPECT_EQ(judgement.worst[1].index, 40U);
  EXPECT_EQ(judgement.worst[2].index, 20U);
  EXPECT_EQ(judgement.worst[2].ratio, 8.0);
  EXPECT_EQ(judgement.worst[2].expected, 21.0);
  EXPECT_EQ(judgement.worst[2].actual, 21.0 + 0x1p-17);
  EXPECT_EQ(judgement.worst[2].bound, 0x1p-20);
  EXPECT_EQ(judgement.worst[2].fault, ElementFault::above_bound);
  EXPECT_EQ(judgement.above_bound, 2U);
  EXPECT_EQ(judgement.max_abs_error, 0x1p-17);
  EXPECT_NEAR(judgement.max_rel_error, 0x1p-17 / 21.0, 1e-20);
}

TEST(Judge, AnErrorWhereNoneIsAllowedIsInfinitelyBad) {
  Expected expected = ramp();
  expected.bound[2] = 0.0;
  std::vector<float> actual = exact(expected);
  EXPECT_TRUE(harness::judge(actual, expected).passed());
  actual[2] = std::nextafter(actual[2], 0.0F);
  EXPECT_EQ(harness::judge(actual, expected).above_bound, 1U);
  EXPECT_EQ(harness::judge(actual, expected).max_ratio, std::numeric_limits<double>::infinity());
}

TEST(Judge, MetricsByHand) {
  const Expected expected{{3.0, 4.0}, {10.0, 10.0}, {3.0, 4.0}};
  const Judgement judgement = harness::judge(std::vector<float>{4.0F, 4.0F}, expected);
  EXPECT_DOUBLE_EQ(judgement.nmse, 1.0 / 25.0);
  EXPECT_DOUBLE_EQ(judgement.cosine, 28.0 / (5.0 * std::sqrt(32.0)));
  EXPECT_DOUBLE_EQ(judgement.max_rel_error, 1.0 / 3.0);
}

TEST(Judge, ABrokenExpectationIsMisuse) {
  const auto with = [](auto change) {
    Expected expected = ramp();
    change(expected);
    return expected;
  };
  const std::vector<float> actual = exact(ramp());
  EXPECT_THROW((void)harness::judge(actual, with([](Expected& e) { e.value.pop_back(); })), std::invalid_argument);
  EXPECT_THROW((void)harness::judge(actual, with([](Expected& e) { e.bound.pop_back(); })), std::invalid_argument);
  EXPECT_THROW((void)harness::judge(actual, with([](Expected& e) { e.value[3] = std::nan(""); })), std::invalid_argument);
  EXPECT_THROW((void)harness::judge(actual, with([](Expected& e) { e.bound[3] = std::nan(""); })), std::invalid_argument);
  EXPECT_THROW((void)harness::judge(actual, with([](Expected& e) { e.bound[3] = -1e-9; })), std::invalid_argument);
  EXPECT_THROW((void)harness::judge(actual, with([](Expected& e) { e.magnitude[3] = std::nan(""); })), std::invalid_argument);
}

}  // namespace
}  // namespace assay::tests::judge_test
