// Family `attention`: which cases a variant gets that no design combines: low scores, and offsets, keys and rows that narrow types do not
// hold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "families/registry.h"
#include "harness/cases/case.h"
#include "harness/cases/suite.h"
#include "kernels/axis_text.h"
#include "kernels/variant.h"
#include "tests/unit/attention_variants.h"

namespace assay::tests::attention_special_cases_test {
namespace {

using namespace ::testing;

TEST(AttentionSpecialCases, FarHasWords) {
  const kernels::Variant variant = attention_variant("[limits]\ndk = [64]\nfar = [\"no\", \"yes\"]\n");
  EXPECT_EQ(kernels::axis_text(*variant.contract, "far", 1), "yes");
  EXPECT_THAT(std::ranges::find(variant.limits, "far", &kernels::AxisLimit::axis)->values, ElementsAre(0, 1));
  const kernels::Variant without = attention_variant("[limits]\ndk = [64]\n");
  EXPECT_EQ(std::ranges::find(without.limits, "far", &kernels::AxisLimit::axis), without.limits.end()) << "it is no feature";
}

// The names of the gate's cases for which `is_wanted`, without the variant, sorted.
std::vector<std::string> gate_names(const std::string& limits, const std::function<bool(const harness::Case&)>& is_wanted) {
  std::vector<std::string> names;
  for (const harness::Case& test_case : harness::suite_cases(harness::Suite::gate, attention_variant("[limits]\n" + limits), 0)) {
    if (is_wanted(test_case)) names.push_back(harness::format_case(test_case).substr(std::string("mine/").size()));
  }
  std::ranges::sort(names);
  return names;
}

// With offsets of more than 31 bits.
std::vector<std::string> large(const std::string& limits) {
  return gate_names(limits, [](const harness::Case& one) { return one.at("far") != 0 || one.at("room") > 500'000; });
}

const std::string kSmall = "dk = [64]\ntype = [\"half\"]\n";

TEST(AttentionSpecialCases, EachTermOfAnOffsetExceeds32Bits) {
  EXPECT_THAT(large(kSmall + "gaps = [\"no\", \"kv\"]\n"), ElementsAre("half/d64x64/b1/h4x4/q1/k65/nomask/gaps_kv/far/gauss/s1",
                                                                       "half/d64x64/b2/h4x4/q1/k65/nomask/gaps_kv/far/gauss/s1",
                                                                       "half/d64x64/b3/h1x1/q1/k65/nomask/gaps_kv/far/gauss/s1"));
  EXPECT_THAT(large(kSmall + "gaps = [\"no\", \"all\"]\nlayout = [\"blhd\"]\n"),
              ElementsAre("half/d64x64/b1/h1x1/q2/k65/nomask/blhd/gaps_all/far/gauss/s1",
                          "half/d64x64/b2/h4x4/q1/k65/nomask/blhd/gaps_all/far/gauss/s1",
                          "half/d64x64/b3/h1x1/q1/k65/nomask/blhd/gaps_all/far/gauss/s1"));
  EXPECT_THAT(large(kSmall + "b = [1]\nh = [8]\ng = [2]\ngaps = [\"kv\"]\n"),
              ElementsAre("half/d64x64/b1/h8x2/q1/k65/nomask/gaps_kv/far/gauss/s1"));
  EXPECT_THAT(large(kSmall + "b = [1, 2]\nh = [4]\ng = [1]\ngaps = [\"kv\"]\n"),
              ElementsAre("half/d64x64/b2/h4x1/q1/k65/nomask/gaps_kv/far/gauss/s1"));
}

TEST(AttentionSpecialCases, PlanesOfMasksAreFarByHeadsAndByBatches) {
  const std::string masks = "gaps = [\"kv\"]\nmask = [\"boolean\"]\nmask_gaps = [\"yes\"]\nmask_planes = ";
  const std::string words = "/boolean/planes_both/mask_gaps/gaps_kv/far/gauss/s1";
  EXPECT_THAT(
      large(kSmall + masks + "[\"both\"]\n"),
      ElementsAre("half/d64x64/b1/h4x4/q1/k65" + words, "half/d64x64/b2/h4x4/q1/k65" + words, "half/d64x64/b3/h1x1/q1/k65" + words));
  const std::string of_heads = "/boolean/planes_head/mask_gaps/gaps_kv/far/gauss/s1";
  EXPECT_THAT(large(kSmall + masks + "[\"head\"]\n"), IsSupersetOf({"half/d64x64/b1/h4x4/q1/k65" + of_heads}));
}

TEST(AttentionSpecialCases, RoomOfGigabytesIsBehindHeadsBatchesAndSlots) {
  EXPECT_THAT(
      large(kSmall + "cache = [\"contiguous\", \"capacity\"]\n"),
      ElementsAre("half/d64x64/b1/h4x4/q1/k65/nomask/room11184811/gauss/s1", "half/d64x64/b2/h4x4/q1/k65/nomask/room2396746/gauss/s1",
                  "half/d64x64/b3/h1x1/q1/k65/nomask/room16777217/gauss/s1"));
  EXPECT_THAT(large(kSmall + "b = [1]\nh = [4]\ng = [1]\ncache = [\"capacity\"]\n"), IsEmpty()) << "one head has nothing behind it";
  EXPECT_THAT(large(kSmall + "b = [1]\nh = [4]\ng = [1]\nlq = [1]\ncache = [\"ring\"]\n"),
              ElementsAre("half/d64x64/b1/h4x1/q1/k65/nomask/ring33554464room33554432/gauss/s1"));
  EXPECT_THAT(large(kSmall + "b = [1]\ncache = [\"paged\"]\n"),
              ElementsAre("half/d64x64/b1/h4x4/q1/k65/nomask/page16room16777216/gauss/s1",
                          "half/d64x64/b1/h4x4/q1/k65/nomask/page16room8388608/gauss/s1"));
}

TEST(AttentionSpecialCases, NoneIsLargeIfTheLimitsSaySo) {
  EXPECT_THAT(large(kSmall + "gaps = [\"no\", \"kv\"]\ncache = [\"contiguous\", \"capacity\"]\nfar = [\"no\"]\n"), IsEmpty());
  EXPECT_THAT(large(kSmall + "gaps = [\"kv\"]\nfar = [\"no\", \"yes\"]\n"), SizeIs(3));
}

TEST(AttentionSpecialCases, KeysAndRowsExceed16Bits) {
  const auto many = [](const std::string& limits) {
    return gate_names(limits,
                      [](const harness::Case& one) { return one.at("lk") > 32767 || one.at("b") * one.at("h") * one.at("lq") > 65535; });
  };
  const std::string cheap = "\n[[dispatch]]\nfunction = \"f\"\ngrid = [\"b * h\", \"lq\"]\nthreads = [32]\n";
  const std::string dear = "\n[[dispatch]]\nfunction = \"f\"\ngrid = [\"b * h\", \"lq\"]\nthreads = [1024]\n";
  EXPECT_THAT(many(kSmall + cheap),
              ElementsAre("half/d64x64/b1/h1x1/q1/k33000/nomask/one_key_far/s1", "half/d64x64/b1/h1x1/q1/k65600/nomask/one_key_far/s1",
                          "half/d64x64/b1/h1x1/q65600/k2/nomask/gauss/s1", "half/d64x64/b1/h4x4/q16400/k2/nomask/gauss/s1"));
  EXPECT_THAT(many(kSmall + "lq = [1, 8]\nlk = [1, 2, 65]\n" + cheap), ElementsAre("half/d64x64/b3/h2734x1/q8/k2/nomask/gauss/s1"));
  EXPECT_THAT(many(kSmall + "lq = [1, 8]\nlk = [1, 2, 65]\nh = [32]\ng = [8]\n" + cheap), IsEmpty()) << "64 batches are too few";
  EXPECT_THAT(many(kSmall + "lq = [1, 8]\nlk = [1, 2, 65]\n" + dear), IsEmpty());
  EXPECT_THAT(many(kSmall + "lq = [8]\nlk = [2]\nblocks = [1, 3]\n" + cheap),
              ElementsAre("half/d64x64/b3/h2734x1/q8/k2/nomask/blocks3/gauss/s1", "half/d64x64/b3/h2734x1/q8/k2/nomask/gauss/s1"));
  EXPECT_THAT(many("dk = [256]\ndv = \"dk\"\ntype = [\"half\"]\nlq = [8]\nlk = [2]\nblocks = [1, 3]\n" + cheap),
              ElementsAre("half/d256x256/b3/h2734x1/q8/k2/nomask/blocks3/gauss/s1"))
      << "a merge of as many";
  const kernels::Variant slow = attention_variant("[limits]\n" + kSmall + "lq = [1, 8]\n" + dear);
  EXPECT_THAT(families::find_family("attention").of_variant(slow).long_cases, Contains("half/d64x64/b3/h2734x1/q8/k2/nomask/gauss/s1"))
      << "which takes long in the gate";
}

// Of fixtures whose keys are dealt to several parts.
std::vector<std::string> of_parts(const std::string& limits) {
  return gate_names("dk = [64]\ntype = [\"half\"]\n" + limits, [](const harness::Case& one) {
    return one.fixture == "mask_late" || one.fixture == "mask_last" || one.fixture == "mask_ends" || one.fixture == "one_key_above";
  });
}

TEST(AttentionSpecialCases, PartsOfTheKeysSeeNothing) {
  const std::vector<std::string> names =
      of_parts("mask = [\"none\", \"additive\"]\nsinks = [\"no\", \"yes\"]\nblocks = [1, 40]\nnsg = [1, 2, 8]\n");
  const std::string start = "half/d64x64/b1/h1x1/q1/k";
  EXPECT_THAT(names, SizeIs(3 * (1 + 2 * 5))) << "40 blocks, 2 simdgroups and 8; with and without sinks";
  EXPECT_THAT(names, IsSupersetOf({start + "64/additive/nsg2/mask_late/s1", start + "128/additive/nsg2/mask_late/s1",
                                   start + "1024/additive/sinks/nsg8/mask_late/s1", start + "1280/additive/sinks/blocks40/mask_late/s1",
                                   start + "5120/additive/blocks40/mask_last/s1", start + "10240/additive/sinks/blocks40/mask_ends/s1"}));
  EXPECT_THAT(of_parts("mask = [\"boolean\"]\nlk = [1, 64, 100]\nnsg = [2]\n"),
              IsSupersetOf({start + "64/boolean/nsg2/mask_late/s1", start + "100/boolean/nsg2/mask_ends/s1"}))
      << "the most keys that there may be";
}

TEST(AttentionSpecialCases, SimdgroupsThatNoAxisNamesArePartsToo) {
  const std::string launch = "\n[[dispatch]]\nfunction = \"f\"\ngrid = [\"b * h\", \"lq\"]\nthreads = [128]\n";
  EXPECT_THAT(of_parts("mask = [\"additive\"]\n" + launch), Contains("half/d64x64/b1/h1x1/q1/k1024/additive/mask_ends/s1"));
}

TEST(AttentionSpecialCases, ManyBlocksAllHaveKeysAndTheLastOutweighsTheOthers) {
  EXPECT_THAT(of_parts("blocks = [1, 2, 40]\n"), ElementsAre("half/d64x64/b1/h1x1/q1/k10240/nomask/blocks40/one_key_above/s1"));
  EXPECT_THAT(of_parts("nsg = [1, 4]\n"), ElementsAre("half/d64x64/b1/h1x1/q1/k1024/nomask/nsg4/one_key_above/s1"));
}

TEST(AttentionSpecialCases, QueriesOfOneHeadExceed16Bits) {
  const auto many = [](const std::string& limits) {
    return gate_names(kSmall + limits + "\n[[dispatch]]\nfunction = \"f\"\ngrid = [\"b * h\", \"lq\"]\nthreads = [32]\n",
                      [](const harness::Case& one) { return one.at("lq") > 65535; });
  };
  EXPECT_THAT(many("mask = [\"none\", \"causal\"]\noffset = [\"end\", \"zero\"]\n"),
              ElementsAre("half/d64x64/b1/h1x1/q65600/k2/causal/offset_zero/gauss/s1", "half/d64x64/b1/h1x1/q65600/k2/nomask/gauss/s1"));
  EXPECT_THAT(many("lq = [1, 2, 8]\n"), IsEmpty());
}

TEST(AttentionSpecialCases, LowScoresAreTestedWithEveryKindOfMaximum) {
  const auto cases = [](const std::string& limits) {
    return gate_names("dk = [64]\n" + limits, [](const harness::Case& one) { return one.fixture == "below_sentinels"; });
  };
  EXPECT_THAT(cases("mask = [\"causal\"]\nblocks = [1, 8]\nnsg = [2, 4]\n"),
              UnorderedElementsAre("float/d64x64/b1/h1x1/q1/k33/causal/nsg2/below_sentinels/s1",
                                   "float/d64x64/b1/h1x1/q1/k33/causal/nsg4/below_sentinels/s1",
                                   "float/d64x64/b1/h1x1/q1/k33/causal/blocks8/nsg2/below_sentinels/s1"));
  EXPECT_THAT(cases("sinks = [\"yes\"]\n"), IsEmpty());
}

TEST(AttentionSpecialCases, LongContextsHaveWindowsAndKeysBehindADominatingOne) {
  const auto is_long = [](const harness::Case& one) { return one.at("lk") > 32767 || one.fixture == "one_key_first"; };
  EXPECT_THAT(gate_names(kSmall + "mask = [\"none\", \"causal\", \"causal_window\"]\n", is_long),
              ElementsAre("half/d64x64/b1/h1x1/q1/k2048/nomask/one_key_first/s1", "half/d64x64/b1/h1x1/q1/k33000/nomask/one_key_far/s1",
                          "half/d64x64/b1/h1x1/q1/k65600/nomask/one_key_far/s1", "half/d64x64/b1/h1x1/q2/k33000/causal/gauss/s1",
                          "half/d64x64/b1/h1x1/q2/k33000/causal_window1/gauss/s1"));
}

}  // namespace
}  // namespace assay::tests::attention_special_cases_test
