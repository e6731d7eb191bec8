// Every planted mistake is caught for its own reason, and passes where it has no effect.
#include "harness/findings/fault_text.h"
#include "tests/faults/twins.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "harness/execute/execute.h"
#include "harness/prepare/workbench.h"
#include "tests/faults/twin_variant.h"

namespace assay::tests::faulty_twins_test {

void PrintTo(const Twin& twin, std::ostream* stream) { *stream << twin.planted; }

namespace {

using harness::Verdict;
using ::testing::HasSubstr;

// Each of our variants has its twins in tables, but for those that are superseded: their own mistakes would shadow planted ones.
struct VariantTwins {
  std::string_view variant;
  std::span<const Twin> twins;
  std::string_view words = {};  // that the table's cases lack for this variant, because it is shared
  // Variants that share a table have its texts word for word: of two of a family each takes every second mistake.
  std::size_t first = 0;
  std::size_t stride = 1;
};
std::vector<VariantTwins> all_tables() {
  return {{"tq4_v1", decode_twins(), "", 0, 2},
          {"tq4_v2", decode_twins(), "sf1", 1, 2},
          {"tqhb_v1", decode_twins(), "b6/nsg1", 1, 2},
          {"tqhb_v2", decode_twins(), "b8/nsg1", 0, 2},
          {"tq4_v2", block_norm_twins()},
          {"tqhb_v1", block_norm_twins(), "b5/nsg1"},
          {"tqhb_v2", block_norm_twins(), "b6/nsg1"},
          {"tq4_v1", tq4_twins()},
          {"tqhb_v1", tqhb_v1_twins()},
          {"tqhb_v2", tqhb_twins()},
          {"reduce_v1", reduce_twins()},
          {"fwht_v1", fwht_twins()},
          {"quantize4_v1", quantize4_twins()},
          {"quantizehb_v1", quantizehb_twins()},
          {"dequantize_v1", dequantize_twins()},
          {"bf16_prefill_v2", bf16_prefill_twins()},
          {"bf16_vec_v2", bf16_vec_twins()},
          {"attn_simd_v1", attn_simd_twins()},
          {"attn_split_v1", attn_split_twins()},
          {"attn_blocks_v1", attn_blocks_twins()},
          {"attn_nwg_v1", attn_nwg_twins()},
          {"attn_paged_v1", attn_paged_twins()},
          {"attn_tiles_v1", attn_tiles_twins()}};
}

Verdict execute(const harness::Workbench& workbench, const harness::Case& test_case, std::string_view schedule) {
  harness::ExecutionOptions options;
  options.worst_elements = std::size_t{1} << 20U;
  if (!schedule.empty()) options.schedules = {metal::Schedule::parse(std::string(schedule))};
  return execute_case(workbench.find(test_case.variant), test_case, options);
}

struct Row {
  std::string_view variant;
  Twin twin;
  std::string_view words;
};
void PrintTo(const Row& row, std::ostream* stream) { *stream << row.variant << ": " << row.twin.planted; }

// One row of so many `parts`. Each part is a suite of its own, because one of all would take too long. CI runs the first.
std::vector<Row> part_of_rows(std::size_t first, std::size_t parts = 6) {
  std::vector<Row> rows;
  std::size_t number = 0;
  for (const VariantTwins& table : all_tables()) {
    for (std::size_t i = table.first; i < table.twins.size(); i += table.stride) {
      if (number++ % parts == first) rows.push_back({table.variant, table.twins[i], table.words});
    }
  }
  return rows;
}

std::vector<std::string_view> all_variants() {
  std::vector<std::string_view> variants;
  for (const VariantTwins& table : all_tables()) {
    if (std::ranges::find(variants, table.variant) == variants.end()) variants.push_back(table.variant);
  }
  return variants;
}

class FaultyTwin : public ::testing::TestWithParam<Row> {};

TEST_P(FaultyTwin, IsCaughtAndPassesWhereItsMistakeHasNoEffect) {
  const auto& [name, twin, words] = GetParam();
  const TwinVariant variant(name, twin);
  if (HasFailure()) return;

  const harness::Case wrong = variant.parse(twin.caught.case_words, words);
  const harness::Case right = variant.parse(twin.quiet.case_words, words);
  const harness::Workbench workbench = variant.prepare({wrong, right});

  const Verdict caught = execute(workbench, wrong, "");
  EXPECT_EQ(to_string(caught.status), to_string(twin.caught.status)) << reason_of(caught);
  EXPECT_THAT(reason_of(caught), HasSubstr(twin.caught.reason));
  std::size_t faulty = 0;
  for (const harness::WorstElement& element : caught.judgement.worst) {
    if (element.fault == harness::ElementFault::none) continue;
    ++faulty;
    const FaultyElement found = {element.index / caught.row_length, element.index % caught.row_length, element.fault, element.expected,
                                 element.actual};
    EXPECT_TRUE(twin.caught.where.holds(found))
        << "must show " << twin.caught.where.words << " only, but row " << found.row << ", coordinate " << found.coordinate << " is "
        << found.actual << " instead of " << found.expected;
  }
  if (twin.caught.elements != 0) {
    EXPECT_EQ(faulty, twin.caught.elements);
  } else if (twin.caught.status == harness::Status::failed && twin.caught.reason.empty()) {
    EXPECT_GT(faulty, 0U) << reason_of(caught);
  }

  const Verdict quiet = execute(workbench, right, twin.quiet.schedule);
  EXPECT_EQ(to_string(quiet.status), "passed") << reason_of(quiet);
}

std::string name_of(const ::testing::TestParamInfo<Row>& row) {
  return std::string(row.param.variant) + "_" + std::string(row.param.twin.name);
}

// The first sixth in halves.
INSTANTIATE_TEST_SUITE_P(First, FaultyTwin, ::testing::ValuesIn(part_of_rows(0, 12)), name_of);
INSTANTIATE_TEST_SUITE_P(Seventh, FaultyTwin, ::testing::ValuesIn(part_of_rows(6, 12)), name_of);
INSTANTIATE_TEST_SUITE_P(Second, FaultyTwin, ::testing::ValuesIn(part_of_rows(1)), name_of);
INSTANTIATE_TEST_SUITE_P(Third, FaultyTwin, ::testing::ValuesIn(part_of_rows(2)), name_of);
INSTANTIATE_TEST_SUITE_P(Fourth, FaultyTwin, ::testing::ValuesIn(part_of_rows(3)), name_of);
INSTANTIATE_TEST_SUITE_P(Fifth, FaultyTwin, ::testing::ValuesIn(part_of_rows(4)), name_of);
INSTANTIATE_TEST_SUITE_P(Sixth, FaultyTwin, ::testing::ValuesIn(part_of_rows(5)), name_of);

// What the twins are compared with: the variant as it stands passes both cases of each.
class HealthyTwin : public ::testing::TestWithParam<std::string_view> {};

TEST_P(HealthyTwin, PassesEveryCaseOfTheTwins) {
  const Twin untouched = {"untouched", "nothing", "#include <metal_stdlib>", "#include <metal_stdlib>", {}, {}};
  const TwinVariant variant(GetParam(), untouched);
  std::vector<harness::Case> cases;
  for (const VariantTwins& table : all_tables()) {
    if (table.variant != GetParam()) continue;
    for (const Twin& twin : table.twins) {
      for (const std::string_view words : {twin.caught.case_words, twin.quiet.case_words}) {
        if (harness::Case test_case = variant.parse(words, table.words); std::ranges::find(cases, test_case) == cases.end())
          cases.push_back(std::move(test_case));
      }
    }
  }
  ASSERT_FALSE(cases.empty());
  const harness::Workbench workbench = variant.prepare(cases);
  for (const harness::Case& test_case : cases) {
    const Verdict verdict = execute(workbench, test_case, "");
    EXPECT_EQ(to_string(verdict.status), "passed") << harness::format_case(test_case) << ": " << reason_of(verdict);
  }
}

INSTANTIATE_TEST_SUITE_P(All, HealthyTwin, ::testing::ValuesIn(all_variants()),
                         [](const auto& parameter) { return std::string(parameter.param); });

}  // namespace
}  // namespace assay::tests::faulty_twins_test
