// The class of a mistake of which the repair is known, where another mistake is left.
#include "harness/triage/repaired_class.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "harness/triage/triage.h"
#include "tests/faults/twin_variant.h"
#include "tests/faults/twins.h"

namespace assay::tests::repaired_class_test {
namespace {

namespace mistake = harness::mistake;

constexpr Twin kValueStride = {"value_stride_and_cap",
                               "values are found with the stride of keys",
                               "j * params.v_strides[2]",
                               "j * params.k_strides[2]",
                               {"float/d64x64/b1/h1x1/q1/k33/nomask/mask_half/gaps_kv/gauss/s1"},
                               {}};

TEST(RepairedClass, WhatAPartialRepairLeavesIsNamedToo) {
  const TwinVariant variant("attn_split_v1", kValueStride);
  std::string text = variant.text();
  constexpr std::string_view capped = "params.softcap * precise::tanh(";
  text.replace(text.find(capped), capped.size(), "precise::tanh(");
  const harness::Laboratory one({.catalogue = variant.catalogue(), .variant = "attn_split_v1", .workbench = {}, .run = {}});
  harness::Laboratory laboratory = harness::with_text(one, text);
  const std::array given = {variant.parse(kValueStride.caught.case_words, ""),
                            variant.parse("float/d64x64/b1/h1x1/q1/k33/nomask/mask_half/cap30/gauss/s1", "")};
  harness::Nearby nearby;
  for (const harness::Case& test_case : given) {
    std::optional<harness::Observation> observation = laboratory.observe(test_case);
    ASSERT_TRUE(observation && observation->is_failure()) << harness::format_case(test_case);
    nearby.failing.push_back(std::move(*observation));
  }
  std::string repaired = text;
  repaired.replace(repaired.rfind(kValueStride.to), kValueStride.to.size(), kValueStride.from);
  const harness::Blame blamed = {
      .suspects = {}, .repaired = repaired, .is_partial = true, .kind = {}, .left_kind = mistake::kSoftcap, .left_says = "the cap"};
  harness::Classification classification;
  classify_by_half(laboratory, nearby, blamed, given, {}, classification);
  say_second(blamed, classification);
  EXPECT_EQ(classification.kind, mistake::kStride) << classification.says;
  EXPECT_THAT(classification.says, ::testing::StartsWith("two mistakes at once: "));
  EXPECT_THAT(classification.says, ::testing::EndsWith("; and (softcap) the cap"));
}

}  // namespace
}  // namespace assay::tests::repaired_class_test
