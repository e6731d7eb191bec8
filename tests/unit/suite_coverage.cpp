// What the gate covers: every pair of levels and every triple of classes that can occur, computed from the finished cases.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "harness/cases/covering.h"
#include "harness/cases/file_case.h"
#include "harness/cases/suite.h"

namespace assay::harness {
namespace {

kernels::Variant variant_of_family(std::string_view family) {
  kernels::Variant variant;
  variant.name = "some_v1";
  variant.family = family;
  return variant;
}

class GateCoverage : public ::testing::TestWithParam<std::string> {};

TEST_P(GateCoverage, MeetsEveryPairAndTripleThatCanOccur) {
  const CoveringDesign design = gate_design(find_family(GetParam()));
  const std::vector<Row> rows = covering_rows(design);
  std::set<Combination> pairs, triples;
  for (const Row& row : rows) {
    EXPECT_TRUE(design.allowed(row));
    for (const Combination pair : pairs_of(row)) pairs.insert(pair);
    for (const Combination triple : triples_of(design, row)) triples.insert(triple);
  }
  EXPECT_EQ(pairs, possible_pairs(design));
  EXPECT_EQ(triples, possible_triples(design));
  EXPECT_EQ(covering_rows(design), rows) << "the same design must give the same rows";
}

INSTANTIATE_TEST_SUITE_P(All, GateCoverage, ::testing::Values("tq4", "reduce", "fwht"));

// possible_pairs() says what can occur; this says that it does not deny what plainly can.
TEST(GateCoverage, TheEdgesAreThere) {
  const std::vector<Case> cases = suite_cases(Suite::gate, variant_of_family("tq4"), 0);
  const auto some = [&](const auto& wanted) { return std::ranges::any_of(cases, wanted); };
  for (const std::int64_t n : {1, 31, 32, 33, 1025, 4096}) {
    EXPECT_TRUE(some([&](const Case& c) { return c.at("kv_len") == n && c.at("ring_start") != 0; }) || n == 1) << n;
    EXPECT_TRUE(some([&](const Case& c) { return c.at("kv_len") == n && c.at("kv_capacity") > n; })) << n;
    EXPECT_TRUE(some([&](const Case& c) { return c.at("kv_len") == n && c.at("nwg") == 32; })) << n;
    EXPECT_TRUE(some([&](const Case& c) { return c.at("kv_len") == n && c.at("head_dim") == 512; })) << n;
  }
  EXPECT_TRUE(some([](const Case& c) { return c.at("n_heads") == 32 && c.at("n_kv_heads") == 8 && c.fixture == "poisoned"; }));
  EXPECT_TRUE(some(
      [](const Case& c) { return c.at("mask_type") == 2 && c.at("sliding_window") == c.at("kv_len") - 1 && c.at("ring_start") == 32; }));
  std::vector<std::int64_t> lengths;
  for (const Case& c : cases) lengths.push_back(c.at("kv_len"));
  std::ranges::sort(lengths);
  EXPECT_GE(lengths[lengths.size() / 2], 255) << "median";
}

// A small design whose pairs and triples can be counted by hand: three factors of 2, 3 and 2 levels, level 1 of the first never
// together with level 2 of the second.
TEST(Covering, CountsOfASmallDesign) {
  CoveringDesign design;
  design.levels = {2, 3, 2};
  design.allowed = [](std::span<const int> row) { return !(row[0] == 1 && row[1] == 2); };
  EXPECT_EQ(possible_pairs(design).size(), 2U * 3 - 1 + 2 * 2 + 3 * 2);
  design.classify = [](std::span<const int> row) { return std::vector<int>(row.begin(), row.end()); };
  design.class_factors = {0, 1, 2};
  EXPECT_EQ(possible_triples(design).size(), 5U * 2);
  EXPECT_EQ(covering_rows(design).size(), 10U) << "all triples of three factors are all allowed rows";
  design.classify = nullptr;
  EXPECT_LE(covering_rows(design).size(), 9U);
  EXPECT_GE(covering_rows(design).size(), 5U) << "pairs of the first two factors";
}

TEST(Suite, SmokeIsPartOfTheGateAndShort) {
  for (const Family& family : all_families()) {
    const kernels::Variant variant = variant_of_family(family.name());
    const std::vector<Case> gate = suite_cases(Suite::gate, variant, 3);
    const std::vector<Case> smoke = suite_cases(Suite::smoke, variant, 3);
    EXPECT_GT(smoke.size(), 50U);
    EXPECT_LE(smoke.size(), 100U);
    for (const Case& value : smoke) EXPECT_NE(std::ranges::find(gate, value), gate.end());
  }
}

TEST(Suite, SeedsShiftTogetherAndDifferBetweenCases) {
  const kernels::Variant variant = variant_of_family("reduce");
  const std::vector<Case> zero = suite_cases(Suite::gate, variant, 0);
  const std::vector<Case> thousand = suite_cases(Suite::gate, variant, 1000);
  std::set<std::uint64_t> seeds;
  for (std::size_t i = 0; i < zero.size(); ++i) {
    EXPECT_EQ(thousand[i].seed, zero[i].seed + (is_on_file(zero[i]) ? 0 : 1000));  // a file's data are what they are
    seeds.insert(zero[i].seed);
  }
  EXPECT_GT(seeds.size(), zero.size() / 4);
}

TEST(Suite, VariantsOfAFamilySeeTheSameData) {
  kernels::Variant other = variant_of_family("tq4");
  other.name = "a_longer_name";
  const std::vector<Case> ours = suite_cases(Suite::gate, variant_of_family("tq4"), 0);
  const std::vector<Case> theirs = suite_cases(Suite::gate, other, 0);
  ASSERT_EQ(ours.size(), theirs.size());
  for (std::size_t i = 0; i < ours.size(); ++i) EXPECT_EQ(ours[i].seed, theirs[i].seed);
}

TEST(Suite, LimitsLeaveCasesOutAndCountThem) {
  kernels::Variant variant = variant_of_family("tq4");
  const std::size_t all = suite_cases(Suite::gate, variant, 0).size();
  variant.limits.push_back({"head_dim", {256}, 3});
  std::size_t left_out = 0;
  const std::vector<Case> cases = suite_cases(Suite::gate, variant, 0, &left_out);
  EXPECT_GT(left_out, 0U);
  EXPECT_EQ(cases.size() + left_out, all);
  for (const Case& value : cases) EXPECT_EQ(value.at("head_dim"), 256);
}

TEST(Suite, ALimitOfAnUnknownAxisNamesFileLineAndAxes) {
  kernels::Variant variant = variant_of_family("tq4");
  variant.description = "some/variant.toml";
  variant.limits.push_back({"nsg", {1}, 12});
  try {
    check_limits(variant);
    FAIL() << "nothing was refused";
  } catch (const kernels::VariantError& error) {
    for (const char* word : {"some/variant.toml:12:", "nsg", "head_dim", "nwg"}) EXPECT_THAT(error.what(), ::testing::HasSubstr(word));
  }
}

}  // namespace
}  // namespace assay::harness
