// What cases need at least: literals counted by hand from harness/cases/minimum.h, and every variant of the tree held against it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "families/registry.h"
#include "harness/cases/case.h"
#include "harness/cases/selection.h"
#include "harness/execute/cost.h"
#include "harness/prepare/workbench.h"
#include "kernels/variant.h"
#include "reports/cost.h"

namespace assay::tests::cost_minimum_test {
namespace {

using namespace harness;

struct MinimumRow {
  std::string family;
  std::string test_case;  // without the variant
  families::Minimum minimum;
};

void PrintTo(const MinimumRow& row, std::ostream* stream) { *stream << row.family << " " << row.test_case; }

class MinimumOf : public ::testing::TestWithParam<MinimumRow> {};

TEST_P(MinimumOf, IsWhatAHandCounts) {
  const MinimumRow& row = GetParam();
  const families::Minimum found = minimum_of(parse_case(row.family + "/" + row.test_case, find_family(row.family)), {});
  EXPECT_EQ(found.bytes_read, row.minimum.bytes_read);
  EXPECT_EQ(found.bytes_written, row.minimum.bytes_written);
  EXPECT_EQ(found.distinct_bytes, row.minimum.distinct_bytes);
  EXPECT_EQ(found.flops, row.minimum.flops);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, MinimumOf,
    ::testing::Values(
        // q 8 x 256 floats; keys and values of 2 heads at 512 visible positions, 128 bytes and a norm each; 8 * 512 * (1024 + 2 + 3).
        MinimumRow{"tq4", "d256/h8x2/kv1024c1024/ring300/win512/nwg16/gauss/s7", {8192 + 270336, 8192, 286720, 4214784}},
        // A window with another mask type does nothing: 33 positions, 2 * 33 * (1024 + 2 + 3).
        MinimumRow{"tq4", "d256/h2x1/kv33c64/ring0/nomaskwin5/nwg2/gauss/s1", {2048 + 8712, 2048, 12808, 67914}},
        // Two norms: 2 * 65 * (256 + 8) bytes of cache, 2 * 65 * (2048 + 4 + 3).
        MinimumRow{"tq4", "d512/h2x1/kv65c65/ring0/nomask/nwg1/sf16/gauss/s1", {4096 + 34320, 4096, 42512, 267150}},
        // One visible position, a byte an index, and 4 rotations of 256 * 9.
        MinimumRow{"tqhb", "d256/b5/h4x2/kv33c64/ring0/win1/nwg2/nsg1/fuse/gauss/s1", {4096 + 1040, 4096, 9232, 4116 + 9216}},
        MinimumRow{"tqhb", "d512/b8/h1x1/kv2c2/ring1/win9/nwg1/nsg4/gauss/s1", {2048 + 2080, 2048, 6176, 2 * 2055}},
        // 5 rows of 3 partial results of 514 floats; 5 * 3 * (1024 + 4).
        MinimumRow{"reduce", "d512/rows5/nwg3/gauss/s1", {30840, 10240, 41080, 15420}},
        // In place; 3 * 512 * 10.
        MinimumRow{"fwht", "d512/h3/undo/gauss/s1", {6144, 6144, 6144, 15360}},
        // 128 bytes and a norm; 256 * 9, 256 squares, 255 sums, a root, a quotient, 256 products.
        MinimumRow{"quantize", "d256/b4/g2/pos0c1/gauss/s1", {2048, 264, 2312, 2 * (2304 + 769)}},
        // 256 bytes, two norms and the probe's 2048 bytes; 512 * 10 and twice 769.
        MinimumRow{"quantize", "d512/b4/g2/pos3c8/sf16/probe/gauss/s1", {4096, 4624, 8720, 2 * (5120 + 1538)}},
        MinimumRow{"quantize", "d512/b6/g1/pos9c8/sliding/gauss/s1", {2048, 520, 2568, 5120 + 1538}},
        MinimumRow{"dequantize", "d512/b8/g5/pos3c16/sf16/gauss/s2", {2600, 10240, 12840, 2570}},
        MinimumRow{"dequantize", "d256/b4/g1/pos0c1/gauss/s2", {132, 1024, 1156, 257}},
        // Queries at positions 1 and 2 of 3: 2 + 3 visible keys for each of 2 heads, 4 rows, 3 keys, 6 elements of the mask.
        MinimumRow{"bf16_prefill", "b1/h2x1/q2/kv3r0/causal1x1/gauss/s1", {4096 + 6144 + 12, 4096, 14348, 10 * 2052}},
        // 33 of 40 keys in each of 2 batches, through one mask.
        MinimumRow{"bf16_prefill", "b2/h1x1/q1/kv40r7/win33m1x1/gauss/s1", {2048 + 135168 + 80, 2048, 139344, 66 * 2052}},
        // Of head 0 query 1 sees nothing, of head 1 query 0; each of the others 3 keys.
        MinimumRow{"bf16_prefill", "b1/h2x1/q2/kv3r0/row1x2/gauss/s1", {2048 + 6144 + 24, 4096, 12312, 6 * 2052}},
        // Float queries, no mask: 2 * 65 keys.
        MinimumRow{"bf16_vec", "b1/h2x2/q1/kv65r31/nomask/nsg2/poisoned/s2", {4096 + 266240, 2048, 272384, 130 * 2051}}));

TEST(MinimumOf, OfAMaskFromChanceIsWhatItLetsThrough) {
  const families::Minimum found = minimum_of(parse_case("bf16_vec/b1/h1x1/q1/kv64r0/random1x1/nsg1/gauss/s1", find_family("bf16_vec")), {});
  // Some keys are hidden, and most are not.
  EXPECT_LT(found.flops, 64U * 2052);
  EXPECT_GT(found.flops, 20U * 2052);
  EXPECT_EQ(found.flops % 2052, 0U);
  EXPECT_EQ(found.bytes_read, 2048U + 2048U * (found.flops / 2052) + 128);
}

// A kernel that touches less than any kernel needs would be a wrong minimum.
TEST(CaseCosts, NoVariantTouchesLessThanTheMinimumAndAllCountAlikeTwice) {
  const auto catalogue = kernels::find_variants(kernels::default_variants_directory(), families::contracts());
  std::map<std::string, std::vector<Case>> by_variant;
  SelectionRequest request;
  request.words = {"smoke"};
  for (const Case& test_case : select_cases(request, catalogue).cases) by_variant[test_case.variant].push_back(test_case);
  ASSERT_EQ(by_variant.size(), catalogue.size());
  constexpr std::size_t kCases = 2;  // of each variant; of a superseded one the first
  for (const auto& [variant, all] : by_variant) {
    std::vector<Case> cases;
    ASSERT_GE(all.size(), kCases) << variant;
    const bool is_superseded = std::ranges::find(catalogue, variant, &kernels::Variant::name)->superseded_by.has_value();
    for (std::size_t i = 0; i < (is_superseded ? 1 : kCases); ++i) cases.push_back(all[i * all.size() / kCases]);
    const Workbench workbench(catalogue, cases, {});
    for (const Case& test_case : cases) {
      SCOPED_TRACE(format_case(test_case));
      const CaseCost cost = cost_of(workbench.find(variant), test_case, {});
      EXPECT_GE(cost.total.distinct_device_bytes, cost.minimum.distinct_bytes);
      EXPECT_GE(cost.total.device_bytes_read, cost.minimum.bytes_read);
      EXPECT_GE(cost.total.device_bytes_written, cost.minimum.bytes_written);
      EXPECT_GT(cost.minimum.flops, 0U);
      ExecutionOptions other;
      other.threads = 2;
      other.schedules = {{metal::Schedule::Kind::random, test_case.seed}};
      const CaseCost again = cost_of(workbench.find(variant), test_case, other);
      EXPECT_EQ(reports::cost_json(cost, "passed"), reports::cost_json(again, "passed"));
    }
  }
}

}  // namespace
}  // namespace assay::tests::cost_minimum_test
