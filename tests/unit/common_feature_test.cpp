// What failing cases have in common that passing ones have not.
#include "harness/triage/common_feature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/cases/case.h"

namespace assay::tests::common_feature_test {
namespace {

namespace mistake = families::mistake;
using harness::Case;
using harness::common_feature;
using harness::CommonFeature;

// Cases of two batches of one query in float with each of these words, from 10 keys on.
std::vector<Case> cases_with(std::initializer_list<std::string_view> words, int of_each) {
  std::vector<Case> cases;
  for (const std::string_view word : words) {
    for (int i = 0; i < of_each; ++i) {
      const std::string name = "mine/float/d64x64/b2/h1x1/q1/k" + std::to_string(10 + i) + "/" + std::string(word) + "/gauss/s1";
      cases.push_back(harness::parse_case(name, harness::find_family("attention")));
    }
  }
  return cases;
}

TEST(CommonFeature, OnlyCasesWithItFail) {
  const std::optional<CommonFeature> found =
      common_feature(cases_with({"nomask/cap30"}, 6), cases_with({"nomask", "causal", "window31"}, 5));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->kind, mistake::kSoftcap);
  EXPECT_EQ(found->says, "only cases with a soft cap fail so: 6 of 6; of the 15 others none");
}

TEST(CommonFeature, TheMostSpecialOneCounts) {
  const std::optional<CommonFeature> found = common_feature(cases_with({"window31"}, 8), cases_with({"nomask", "causal", "alibi"}, 8));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->kind, mistake::kWindow);
}

TEST(CommonFeature, AMistakeMayNeedTwo) {
  const std::optional<CommonFeature> found =
      common_feature(cases_with({"causal/ragged"}, 6), cases_with({"nomask", "causal", "nomask/ragged", "nomask/cap30"}, 5));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->kind, mistake::kMask);
  EXPECT_EQ(found->says, "only cases with a mask and batches of different lengths fail so: 6 of 6; of the 20 others none");
}

TEST(CommonFeature, OfTwoMistakesTheOneWhoseCasesAllFailCounts) {
  std::vector<Case> failing = cases_with({"nomask/cap30"}, 6);
  const std::vector<Case> others = cases_with({"causal"}, 2);
  failing.insert(failing.end(), others.begin(), others.end());
  const std::optional<CommonFeature> found = common_feature(failing, cases_with({"nomask", "window31", "alibi"}, 5));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->kind, mistake::kSoftcap);
  EXPECT_EQ(found->says, "all 6 cases with a soft cap fail; of the 17 others 2");
}

TEST(CommonFeature, ChanceSaysNothing) {
  EXPECT_FALSE(common_feature(cases_with({"nomask/cap30"}, 1), cases_with({"nomask", "nomask/cap50"}, 5)));
  EXPECT_FALSE(common_feature(cases_with({"nomask", "nomask/cap30"}, 5), cases_with({"nomask", "nomask/cap50"}, 5)));
  EXPECT_FALSE(common_feature(cases_with({"nomask/cap30"}, 9), {}));
  EXPECT_FALSE(common_feature({}, cases_with({"nomask"}, 5)));
}

}  // namespace
}  // namespace assay::tests::common_feature_test
