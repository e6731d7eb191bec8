// The split of errors into rounding and logic, with shadows made up: what each part is, what counts against a kernel, what has no split.
#include "harness/judge/split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "harness/findings/fault_text.h"
#include "metal/buffer.h"
#include "oracles/partials.h"

namespace assay::tests::judge_split_test {
namespace {

using harness::ErrorSplit;
using harness::ShadowedOutput;
using harness::SplitElement;
using ::testing::HasSubstr;

constexpr double kBound = 0x1p-10;
constexpr double kExactBound = 0x1p-20;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Ten elements j + 1, which the contract's conversions raise by 1/8, every value and shadow right.
ShadowedOutput right() {
  ShadowedOutput output;
  for (int j = 0; j < 10; ++j) {
    output.exact.value.push_back(j + 1.0);
    output.exact.bound.push_back(kExactBound);
    output.exact.magnitude.push_back(j + 1.0);
    output.expected.value.push_back(j + 1.125);
    output.expected.bound.push_back(kBound);
    output.expected.magnitude.push_back(j + 1.125);
  }
  output.values = output.expected.value;
  output.shadows = output.exact.value;
  return output;
}

ErrorSplit split(const ShadowedOutput& output) {
  return split_errors(output, harness::judge(std::span<const double>(output.values), output.expected));
}

TEST(ErrorSplit, WhatTheContractConvertsIsNeitherRoundingNorLogic) {
  const ErrorSplit result = split(right());
  EXPECT_EQ(result.elements, 10U);
  EXPECT_EQ(result.above_bound, 0U);
  EXPECT_EQ(result.max_rounding_ratio, 0.0);
  EXPECT_EQ(result.max_logic_ratio, 0.0);
  EXPECT_EQ(result.worst.front().conversions(), 0.125);
  EXPECT_EQ(harness::logic_of(result), std::nullopt);
}

TEST(ErrorSplit, AValueAwayFromItsShadowIsRounding) {
  ShadowedOutput output = right();
  output.values[3] += 4 * kBound;
  const ErrorSplit result = split(output);
  EXPECT_EQ(result.max_rounding_ratio, 4.0);
  EXPECT_EQ(result.max_rounding_index, 3U);
  EXPECT_EQ(result.max_logic_ratio, 0.0);
  EXPECT_EQ(result.above_bound, 0U);
  ASSERT_EQ(result.worst.front().index, 3U);
  EXPECT_FALSE(result.worst.front().is_mostly_logic());
}

TEST(ErrorSplit, AShadowAwayFromTheExactResultIsLogic) {
  ShadowedOutput output = right();
  output.values[3] += 4 * kBound;
  output.shadows[3] += 4 * kBound;
  const ErrorSplit result = split(output);
  EXPECT_EQ(result.max_rounding_ratio, 0.0);
  EXPECT_EQ(result.max_logic_ratio, 4096.0);
  EXPECT_EQ(result.max_logic_index, 3U);
  EXPECT_EQ(result.above_bound, 1U);
  EXPECT_TRUE(result.worst.front().is_mostly_logic());
  EXPECT_THAT(harness::text_of(*harness::logic_of(result)),
              HasSubstr("logic: 1 of 10 elements is wrong even without rounding; the worst is element 3, whose error is 4.1e+03 times"));
}

TEST(ErrorSplit, ThePartsAddUpToTheErrorThatIsJudged) {
  ShadowedOutput output = right();
  output.values[3] += 0.5;
  output.shadows[3] += 0.25;
  const SplitElement element = split(output).worst.front();
  EXPECT_EQ(element.rounding(), 0.25);
  EXPECT_EQ(element.logic(), 0.25);
  EXPECT_EQ(element.rounding() + element.logic(), element.actual - element.expected);
}

// The value is perfect and the judge is content: rounding happens to undo what logic did.
TEST(ErrorSplit, LogicIsSeenWhereTheValueHidesIt) {
  ShadowedOutput output = right();
  output.shadows[9] += 2 * kExactBound;
  const ErrorSplit result = split(output);
  EXPECT_EQ(result.above_bound, 1U);
  ASSERT_NE(result.find(9), nullptr) << "not among the judge's worst eight, and listed for its logic";
  EXPECT_EQ(result.find(9)->logic_ratio(), 2.0);
}

TEST(ErrorSplit, TheBoundItselfIsAllowedAndTheNextShadowIsNot) {
  ShadowedOutput output = right();
  output.shadows[0] = 1.0 + kExactBound;
  EXPECT_EQ(split(output).above_bound, 0U);
  output.shadows[0] = std::nextafter(output.shadows[0], 2.0);
  EXPECT_EQ(split(output).above_bound, 1U);
}

TEST(ErrorSplit, AnOverflowIsRoundingAndAShadowThatIsNoNumberIsLogic) {
  ShadowedOutput output = right();
  output.values[2] = kInfinity;
  ErrorSplit result = split(output);
  EXPECT_EQ(result.max_rounding_ratio, kInfinity);
  EXPECT_EQ(result.max_rounding_index, 2U);
  EXPECT_EQ(result.above_bound, 0U);
  EXPECT_FALSE(result.find(2)->is_mostly_logic());
  output.values[2] = kNan;
  EXPECT_EQ(split(output).max_rounding_ratio, kInfinity);
  output.shadows[2] = kNan;
  result = split(output);
  EXPECT_EQ(result.above_bound, 1U);
  EXPECT_EQ(result.max_logic_ratio, kInfinity);
  EXPECT_TRUE(result.find(2)->is_mostly_logic());
}

TEST(ErrorSplit, WhatIsDiscreteOrWasNeverWrittenHasNone) {
  ShadowedOutput output = right();
  output.values[4] = output.shadows[4] = oracles::widen_nan(metal::kPoisonWord);
  output.values[5] += 1.0;
  output.shadows[5] = 77.0;
  output.is_discrete.assign(10, false);
  output.is_discrete[5] = true;
  const ErrorSplit result = split(output);
  EXPECT_EQ(result.elements, 8U);
  EXPECT_EQ(result.discrete, 1U);
  EXPECT_EQ(result.above_bound, 0U);
  EXPECT_EQ(result.find(4), nullptr);
  EXPECT_EQ(result.find(5), nullptr);
}

TEST(ErrorSplit, SizesThatDifferAreRefused) {
  ShadowedOutput output = right();
  output.shadows.pop_back();
  EXPECT_THROW(static_cast<void>(split(output)), std::invalid_argument);
}

}  // namespace
}  // namespace assay::tests::judge_split_test
