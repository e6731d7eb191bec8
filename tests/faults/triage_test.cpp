// Triage names what was planted, without reading the source: class, a small case, and the line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "families/registry.h"
#include "harness/cases/case_size.h"
#include "harness/triage/triage.h"
#include "tests/faults/twin_variant.h"

namespace assay::tests::triage_test {
namespace {

using harness::Finding;
using namespace ::testing;

struct Expectation {
  std::string_view variant;
  std::span<const Twin> (*table)();
  std::string_view twin;
  std::string_view kind;
  std::string_view more_words = {};
  std::string_view smallest = {};  // words of the smallest case; empty: not said
};
void PrintTo(const Expectation& row, std::ostream* stream) { *stream << row.variant << ": " << row.twin; }

// One of each family, but `attention`, which Strangers and FirstOfTwo try. CI has no time for the others, which compile as many kernels.
constexpr Expectation kRows[] = {
    {"tq4_v1", decode_twins, "window_one_short", "window-off-by-one", "", "d256/h1x1/kv2c2/ring0/win1/nwg1/gauss/s1"},
    {"tqhb_v2", tqhb_twins, "merge_before_the_others", "missing-barrier"},
    {"reduce_v1", reduce_twins, "sum_not_rescaled", "missing-rescale"},
    {"fwht_v1", fwht_twins, "undo_without_signs", "sign-pattern", "", "d256/h1/undo/gauss/s1"},
    {"quantize4_v1", quantize4_twins, "ties_go_up", "wrong-rounding"},
    {"dequantize_v1", dequantize_twins, "norm_of_the_first_block", "wrong-block-norm"},
    {"bf16_vec_v2", bf16_vec_twins, "tail_dropped", "lost-chunk"},
    {"bf16_prefill_v2", bf16_prefill_twins, "mask_ignored", "mask-missing"},
};
constexpr Expectation kFurtherRows[] = {
    {"attn_blocks_v1", attn_blocks_twins, "output_by_head", "permuted-output"},
    {"tq4_v1", decode_twins, "kv_head_by_modulo", "wrong-head-mapping"},
    {"tq4_v1", decode_twins, "accumulator_not_rescaled", "missing-rescale"},
    {"tq4_v1", tq4_twins, "room_forgotten", "wrong-stride"},
    {"tq4_v1", tq4_twins, "nibbles_swapped", "swapped-nibbles", "", "d512/h1x1/kv1c1/ring0/nomask/nwg1/gauss/s1"},
    {"tqhb_v2", tqhb_twins, "bank_lost", "lost-simdgroup"},
    {"attn_split_v1", attn_split_twins, "cap_not_divided", "softcap"},
    {"attn_blocks_v1", attn_blocks_twins, "scale_of_the_first_block", "wrong-block-norm"},
    {"attn_nwg_v1", attn_nwg_twins, "values_without_ring_start", "ring-start-off-by-one"},
    {"attn_simd_v1", attn_simd_twins, "sink_of_next_head", "sinks"},
    {"attn_paged_v1", attn_paged_twins, "merged_without_maxima", "missing-rescale"},
};

std::size_t line_of(std::string_view text, std::string_view what) {
  return 1 + static_cast<std::size_t>(std::ranges::count(text.substr(0, text.find(what)), '\n'));
}

class Triage : public ::testing::TestWithParam<Expectation> {};

TEST_P(Triage, NamesClassSmallestCaseAndLine) {
  const Expectation& row = GetParam();
  const auto table = row.table();
  const auto twin = std::ranges::find(table, row.twin, &Twin::name);
  ASSERT_NE(twin, table.end());
  const TwinVariant variant(row.variant, *twin);
  const harness::Case given = variant.parse(twin->caught.case_words, row.more_words);
  harness::Laboratory laboratory({.catalogue = variant.catalogue(), .variant = std::string(row.variant), .workbench = {}, .run = {}});
  const harness::Verdict failure = laboratory.verdict(given);
  ASSERT_FALSE(is_success(failure.status));

  const std::vector<kernels::Variant> ours = kernels::find_variants(kernels::default_variants_directory(), families::contracts());
  const kernels::Variant& original = *std::ranges::find(ours, row.variant, &kernels::Variant::name);
  harness::TriageOptions options;
  options.relatives = {original.source};
  const std::vector<Finding> findings = harness::triage(laboratory, std::span(&failure, 1), options);
  ASSERT_THAT(findings, SizeIs(1));
  const Finding& finding = findings.front();
  EXPECT_EQ(finding.classification.kind, row.kind) << finding.classification.says;
  if (!row.smallest.empty())
    EXPECT_EQ(harness::format_case(finding.minimal.test_case), std::string(row.variant) + "/" + std::string(row.smallest));
  EXPECT_LE(harness::size_of(finding.minimal.test_case), harness::size_of(given));
  ASSERT_FALSE(finding.suspects.empty());
  const std::size_t first = line_of(variant.text(), twin->to);
  const auto last = first + static_cast<std::size_t>(std::ranges::count(twin->to, '\n'));
  EXPECT_GE(finding.suspects.front().line, first) << finding.suspects.front().why;
  EXPECT_LE(finding.suspects.front().line, last) << finding.suspects.front().why;
}

std::string name_of(const ::testing::TestParamInfo<Expectation>& row) {
  return std::string(row.param.variant) + "_" + std::string(row.param.twin);
}

INSTANTIATE_TEST_SUITE_P(Twins, Triage, ::testing::ValuesIn(kRows), name_of);
INSTANTIATE_TEST_SUITE_P(Further, Triage, ::testing::ValuesIn(kFurtherRows), name_of);

}  // namespace
}  // namespace assay::tests::triage_test
