// The matchers over the judge: they match, they do not match, and their message names the element.
#include "tests/support/judge_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <stdexcept>
#include <vector>

#include "metal/buffer.h"

namespace assay::tests::judge_matchers_test {
namespace {

using namespace ::testing;

// 20 elements j + 1 with a bound of 2^-10 each.
oracles::Expected ramp() {
  oracles::Expected expected;
  for (int j = 0; j < 20; ++j) {
    expected.value.push_back(j + 1.0);
    expected.bound.push_back(0x1p-10);
    expected.magnitude.push_back(j + 1.0);
  }
  return expected;
}

std::vector<float> output_with(std::size_t index, float value) {
  const oracles::Expected expected = ramp();
  std::vector<float> output(expected.value.begin(), expected.value.end());
  output[index] = value;
  return output;
}

template <typename Output>
std::string explanation(const Output& output, const oracles::Expected& expected) {
  ::testing::StringMatchResultListener listener;
  const ::testing::Matcher<const Output&> matcher = IsWithinBoundOf(expected);
  matcher.MatchAndExplain(output, &listener);
  return listener.str();
}

TEST(JudgeMatchers, StayQuietWithinTheBound) {
  EXPECT_THAT(output_with(3, 4.0F), IsWithinBoundOf(ramp()));
  EXPECT_THAT(output_with(3, 4.0F + 0x1p-10F), IsWithinBoundOf(ramp())) << "on the bound";
  EXPECT_THAT(ramp().value, IsWithinBoundOf(ramp())) << "doubles";
}

TEST(JudgeMatchers, FireBeyondIt) {
  EXPECT_THAT(output_with(3, 4.0F + 0x1p-9F), Not(IsWithinBoundOf(ramp())));
  EXPECT_THAT(output_with(3, std::numeric_limits<float>::quiet_NaN()), Not(IsWithinBoundOf(ramp())));
  EXPECT_THAT(output_with(3, std::numeric_limits<float>::infinity()), Not(IsWithinBoundOf(ramp())));
  EXPECT_THAT(output_with(3, std::bit_cast<float>(metal::kPoisonWord)), Not(IsWithinBoundOf(ramp())));
}

TEST(JudgeMatchers, FireOnAComparisonThatProvesNothing) {
  oracles::Expected wide = ramp();
  for (double& bound : wide.bound) bound = 1.0;
  EXPECT_THAT(output_with(3, 4.0F), Not(IsWithinBoundOf(wide)));
  EXPECT_THAT(explanation(output_with(3, 4.0F), wide), HasSubstr("mistrusted: 20 of 20 elements"));
}

TEST(JudgeMatchers, NameTheWorstElementsInOrder) {
  std::vector<float> output = output_with(3, 4.0F + 0x1p-9F);
  output[7] = std::numeric_limits<float>::quiet_NaN();
  const std::string text = explanation(output, ramp());
  EXPECT_THAT(text, AllOf(HasSubstr("1 above bound"), HasSubstr("1 NaN"), HasSubstr("[7] expected 8, actual nan"),
                          HasSubstr("[3] expected 4, actual 4.00195312, error 0.001953, bound 0.0009766, error/bound 2 ABOVE BOUND")));
  EXPECT_LT(text.find("[7]"), text.find("[3]"));
}

TEST(JudgeMatchers, DescribeThemselves) {
  const ::testing::Matcher<const std::vector<float>&> matcher = IsWithinBoundOf(ramp());
  EXPECT_EQ(::testing::DescribeMatcher<const std::vector<float>&>(matcher), "is within the bound of all 20 expected elements");
  EXPECT_EQ(::testing::DescribeMatcher<const std::vector<float>&>(Not(matcher)), "is not within the bound of all 20 expected elements");
}

TEST(JudgeMatchers, AnotherSizeThrows) {
  const std::vector<float> shorter = {1, 2, 3};
  EXPECT_THROW(static_cast<void>(explanation(shorter, ramp())), std::invalid_argument);
}

}  // namespace
}  // namespace assay::tests::judge_matchers_test
