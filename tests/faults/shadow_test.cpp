// What the policy `shadow` makes of planted mistakes: those in what a kernel computes are logic, those in how exactly are rounding, and a
// kernel without either keeps its bits, its verdict and its shadow within the bounds of float.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/execute/execute.h"
#include "harness/execute/explain.h"
#include "harness/findings/fault_text.h"
#include "harness/findings/known_finding.h"
#include "reports/explanation.h"
#include "tests/faults/twin_variant.h"

namespace assay::tests::shadow_test {
namespace {

using harness::Explanation;
using harness::Verdict;
using reports::explanation_text;
using ::testing::HasSubstr;

Verdict execute(const harness::Workbench& workbench, const harness::Case& test_case, metal::Policy policy) {
  const harness::PreparedVariant& prepared = workbench.find(test_case.variant);
  harness::ExecutionOptions options;
  options.schedules = {metal::Schedule{}};
  options.policy = policy;
  return execute_case(prepared, test_case, options);
}

struct Row {
  std::string_view variant;
  std::span<const Twin> table;
  std::string_view twin;
  std::string_view words = {};  // that the table's cases lack
};
void PrintTo(const Row& row, std::ostream* stream) { *stream << row.variant << ": " << row.twin; }

class LogicTwin : public ::testing::TestWithParam<Row> {};

TEST_P(LogicTwin, IsShownAsLogicAndPassesWhereItsMistakeHasNoEffect) {
  const Row& row = GetParam();
  const auto twin = std::ranges::find(row.table, row.twin, &Twin::name);
  ASSERT_NE(twin, row.table.end());
  const TwinVariant variant(row.variant, *twin);
  ASSERT_FALSE(HasFailure());
  const harness::Case wrong = variant.parse(twin->caught.case_words, row.words);
  const harness::Case right = variant.parse(twin->quiet.case_words, row.words);
  const harness::Workbench workbench = variant.prepare({wrong, right});

  const Verdict caught = execute(workbench, wrong, metal::Policy::shadow);
  EXPECT_EQ(to_string(caught.status), "failed") << reason_of(caught);
  EXPECT_EQ(caught.digest, execute(workbench, wrong, metal::Policy::native).digest);
  EXPECT_TRUE(caught.lost_shadows.empty());
  ASSERT_TRUE(caught.split);
  EXPECT_GT(caught.split->above_bound, 0U);
  EXPECT_THAT(reason_of(caught), HasSubstr("logic: "));
  ASSERT_FALSE(caught.split->worst.empty());
  EXPECT_TRUE(caught.split->worst.front().is_mostly_logic())
      << "rounding " << caught.split->worst.front().rounding() << ", logic " << caught.split->worst.front().logic();

  const Verdict quiet = execute(workbench, right, metal::Policy::shadow);
  EXPECT_EQ(to_string(quiet.status), "passed") << reason_of(quiet);
  ASSERT_TRUE(quiet.split);
  EXPECT_LE(quiet.split->max_logic_ratio, 1.0);
}

INSTANTIATE_TEST_SUITE_P(
    All, LogicTwin,
    ::testing::Values(Row{"tq4_v1", decode_twins(), "scale_5_percent_off"}, Row{"tq4_v1", decode_twins(), "accumulator_not_rescaled"},
                      Row{"tq4_v1", decode_twins(), "sum_not_rescaled"},
                      Row{"tqhb_v2", decode_twins(), "accumulator_not_rescaled", "b8/nsg1"},
                      Row{"tq4_v2", block_norm_twins(), "norm_of_the_first_block"},
                      Row{"tqhb_v2", block_norm_twins(), "norm_of_the_other_block", "b6/nsg1"},
                      Row{"dequantize_v1", dequantize_twins(), "norm_of_the_other_block"},
                      Row{"quantize4_v1", quantize4_twins(), "norm_of_the_other_block"},
                      Row{"bf16_prefill_v2", bf16_prefill_twins(), "scaled_twice"},
                      Row{"bf16_prefill_v2", bf16_prefill_twins(), "output_not_rescaled"},
                      Row{"bf16_vec_v2", bf16_vec_twins(), "scaled_twice"}, Row{"bf16_vec_v2", bf16_vec_twins(), "sum_not_rescaled"}),
    [](const auto& parameter) { return std::string(parameter.param.variant) + "_" + std::string(parameter.param.twin); });

Twin untouched() { return {"untouched", "nothing", "#include <metal_stdlib>", "#include <metal_stdlib>", {}, {}}; }

// One line of the source that `explain` says most of the rounding is made in.
void expect_named(const Explanation& explanation, std::string_view text, double share) {
  ASSERT_FALSE(explanation.lines.empty());
  const harness::LineContribution& first = explanation.lines.front();
  EXPECT_THAT(first.text, HasSubstr(text)) << explanation_text(explanation);
  EXPECT_GT(first.share, share) << explanation_text(explanation);
}

// The output of bf16_prefill_v1 is kept in half, where tiny values are subnormal: finding 3.
TEST(Explain, NamesTheLineWhereBf16PrefillAccumulatesInHalf) {
  const TwinVariant variant("bf16_prefill_v1", untouched());
  const harness::Case test_case = variant.parse("b1/h1x1/q8/kv1024r0/nomask/tiny/s7", {});
  const harness::Workbench workbench = variant.prepare({test_case});
  const Explanation explanation = explain_case(workbench.find(test_case.variant), test_case, {}, {});
  EXPECT_EQ(to_string(explanation.verdict.status), "known") << reason_of(explanation.verdict);
  expect_named(explanation, "simdgroup_multiply_accumulate(o[c]", 0.5);
  if (HasFatalFailure()) return;
  EXPECT_THAT(explanation.lines.front().rounding.what, HasSubstr("half"));
}

// Too small for the job: what the gate fails for its values, it does not fail for its logic.
TEST(Explain, NamesAHalfAccumulatorThatFailsAndFindsNoFaultWithTheLogic) {
  const Twin twin = {"half_accumulator",
                     "the output so far is rounded to half with every rescale",
                     "so4[lane + SIMD_WIDTH * i] *= ms;",
                     "so4[lane + SIMD_WIDTH * i] = float4(half4(so4[lane + SIMD_WIDTH * i] * ms));",
                     {},
                     {}};
  const TwinVariant variant("tq4_v1", twin);
  const harness::Case test_case = variant.parse("d256/h2x1/kv257c257/ring0/nomask/nwg1/gauss/s16", {});
  const harness::Workbench workbench = variant.prepare({test_case});
  const Explanation explanation = explain_case(workbench.find(test_case.variant), test_case, {}, {});
  EXPECT_EQ(to_string(explanation.verdict.status), "failed");
  ASSERT_TRUE(explanation.verdict.split);
  EXPECT_EQ(explanation.verdict.split->above_bound, 0U) << reason_of(explanation.verdict);
  EXPECT_THAT(reports::conclusion_of(explanation), HasSubstr("the formula is right, but the kernel rounds too much"));
  expect_named(explanation, "half4(so4", 0.5);
}

// More exact than its contract, and therefore wrong (docs/CONTRACTS.md).
TEST(Explain, SaysOfAQueryInFloatThatARoundingIsMissing) {
  const auto twin = std::ranges::find(tq4_twins(), "query_not_rounded", &Twin::name);
  const TwinVariant variant("tq4_v1", *twin);
  const harness::Case test_case = variant.parse("d256/h2x1/kv257c257/ring0/nomask/nwg1/gauss/s16", {});
  const harness::Workbench workbench = variant.prepare({test_case});
  const Explanation explanation = explain_case(workbench.find(test_case.variant), test_case, {}, {});
  EXPECT_EQ(to_string(explanation.verdict.status), "failed");
  EXPECT_GT(explanation.missing_conversions_share, 0.9) << explanation_text(explanation);
  EXPECT_THAT(reports::conclusion_of(explanation), HasSubstr("the kernel omits a rounding that the contract requires"));
}

TEST(Explain, RanksNoRoundingThatTheContractAsksFor) {
  const TwinVariant variant("tq4_v1", untouched());
  const harness::Case test_case = variant.parse("d256/h2x1/kv257c257/ring0/nomask/nwg1/gauss/s16", {});
  const harness::Workbench workbench = variant.prepare({test_case});
  const Explanation explanation = explain_case(workbench.find(test_case.variant), test_case, {}, {});
  EXPECT_EQ(to_string(explanation.verdict.status), "passed");
  for (const harness::LineContribution& line : explanation.lines) {
    EXPECT_LT(std::abs(line.share), 1.0) << explanation_text(explanation);
    if (line.text.find("half4(q4") != std::string::npos) EXPECT_LT(std::abs(line.share), 0.05) << explanation_text(explanation);
  }
}

// Every variant on one case: bits, verdict and logic of a kernel that is right.
TEST(Shadow, LeavesBitsAndVerdictsAlone) {
  const std::vector<std::pair<std::string_view, std::string_view>> cases = {
      {"tq4_v1", "d256/h2x1/kv257c257/ring0/nomask/nwg4/gauss/s16"},
      {"tq4_v2", "d512/h2x1/kv33c33/ring0/nomask/nwg1/sf1/structured/s7"},
      {"tqhb_v1", "d512/h2x1/kv33c33/ring0/nomask/nwg1/sf1/gauss/s7/b5/nsg1"},
      {"tqhb_v2", "d512/h2x1/kv33c33/ring0/nomask/nwg1/sf1/gauss/s7/b6/nsg1"},
      {"dequantize_v1", "d512/b4/g2/pos1c4/structured/s1"},
      {"bf16_prefill_v2", "b1/h1x1/q8/kv128r0/nomask/gauss/s7"}};
  for (const auto& [name, words] : cases) {
    const TwinVariant variant(name, untouched());
    const harness::Case test_case = variant.parse(words, {});
    const harness::Workbench workbench = variant.prepare({test_case});
    const Verdict native = execute(workbench, test_case, metal::Policy::native);
    const Verdict shadow = execute(workbench, test_case, metal::Policy::shadow);
    EXPECT_EQ(to_string(shadow.status), to_string(native.status)) << name << ": " << reason_of(shadow);
    EXPECT_EQ(shadow.digest, native.digest) << name;
    EXPECT_EQ(shadow.judgement.max_ratio, native.judgement.max_ratio) << name;
    EXPECT_FALSE(native.split) << name;
    ASSERT_TRUE(shadow.split) << name;
    EXPECT_LE(shadow.split->max_logic_ratio, 1.0) << name;
    EXPECT_GT(shadow.split->elements, 0U) << name;
  }
}

}  // namespace
}  // namespace assay::tests::shadow_test
