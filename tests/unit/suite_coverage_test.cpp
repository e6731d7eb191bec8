// What the suites cover: every few levels and every triple of classes that can occur, counted from the finished cases.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "harness/cases/coverage.h"
#include "harness/cases/covering.h"
#include "harness/cases/file_case.h"
#include "harness/cases/suite.h"

namespace assay::tests::suite_coverage_test {
namespace {

using namespace harness;

kernels::Variant variant_of_family(std::string_view family) {
  kernels::Variant variant;
  variant.name = "some_v1";
  variant.family = family;
  return variant;
}

class SuiteCoverage : public ::testing::TestWithParam<std::tuple<std::string, std::string>> {};

TEST_P(SuiteCoverage, MeetsEverythingThatCanOccurAndComesOutTheSameAgain) {
  const auto& [suite_name, family] = GetParam();
  const Suite suite = parse_suite(suite_name);
  const kernels::Variant variant = variant_of_family(family);
  const std::vector<Case> cases = suite_cases(suite, variant, 0);
  const Coverage coverage = measure_coverage(suite, variant, cases);
  EXPECT_EQ(coverage.cases, cases.size());
  EXPECT_TRUE(coverage.complete()) << describe_coverage(coverage);
  EXPECT_GT(coverage.values.possible, 0U);
  const CoveringDesign design = suite_design(plan_of(suite), find_family(family), {}, plan_of(suite).work);
  const std::vector<Row> rows = covering_rows(design);
  for (const Row& row : rows) ASSERT_TRUE(design.allowed(row));
  EXPECT_EQ(covering_rows(design), rows) << "the same design must give the same rows";
}

INSTANTIATE_TEST_SUITE_P(All, SuiteCoverage,
                         ::testing::Combine(::testing::Values("gate", "full"),
                                            ::testing::Values("tq4", "tqhb", "reduce", "fwht", "quantize", "dequantize", "bf16_prefill",
                                                              "bf16_vec")),
                         [](const auto& info) { return std::get<0>(info.param) + "_" + std::get<1>(info.param); });

TEST(SuiteCoverage, WhatIsMissingIsCountedAndNamed) {
  const kernels::Variant variant = variant_of_family("tq4");
  std::vector<Case> cases = suite_cases(Suite::gate, variant, 0);
  std::erase_if(cases, [](const Case& value) { return value.fixture == "drift"; });
  const Coverage coverage = measure_coverage(Suite::gate, variant, cases);
  EXPECT_FALSE(coverage.complete());
  EXPECT_LT(coverage.values.met, coverage.values.possible);
  EXPECT_LT(coverage.classes.met, coverage.classes.possible);
  EXPECT_THAT(coverage.missing, ::testing::Contains(::testing::HasSubstr("fixture=drift")));
  EXPECT_THAT(describe_coverage(coverage), ::testing::HasSubstr("fixture=drift; "));

  EXPECT_EQ(measure_coverage(Suite::gate, variant, {}).values.met, 0U);
}

// A case meets what its values are, not what the design drew them for: 64 is n, and for n = 64 it is the next power of two as well.
TEST(SuiteCoverage, ACaseMeetsEveryLevelThatItsValuesAreAt) {
  const kernels::Variant variant = variant_of_family("tq4");
  const Case value = parse_case("some_v1/d256/h2x1/kv64c64/ring32/win64/nwg3/gauss/s1", find_family("tq4"));
  // D, heads, n, scale, norms, nwg, mask and fixture at one level each; cap at two (n, pow2), ring at two (32, cap/2).
  const Coverage coverage = measure_coverage(Suite::gate, variant, std::span(&value, 1));
  EXPECT_EQ(coverage.values.met, 8U * 7 / 2 + 8 * (2 + 2) + 2 * 2);
  // Six classes, but the fixture meets no pair with the value of nwg.
  EXPECT_EQ(coverage.classes.met, 6U * 5 * 4 / 6 - 4);
}

TEST(SuiteCoverage, WithinLimitsItIsAsComplete) {
  kernels::Variant variant = variant_of_family("tq4");
  variant.limits = {{"head_dim", {256}, 3}, {"nwg", {1, 16}, 4}, {"ring_start", {0}, 5}};
  std::size_t left_out = 0;
  const std::vector<Case> cases = suite_cases(Suite::gate, variant, 0, &left_out);
  EXPECT_GT(left_out, 0U);
  for (const Case& value : cases) EXPECT_TRUE(within_limits(variant, value)) << format_case(value);
  const Coverage coverage = measure_coverage(Suite::gate, variant, cases);
  EXPECT_TRUE(coverage.complete()) << describe_coverage(coverage);
  EXPECT_LT(coverage.values.possible, measure_coverage(Suite::gate, variant_of_family("tq4"), {}).values.possible);

  // The cases that other variants run as well come first, so that two variants can be compared on them.
  const std::vector<Case> all = suite_cases(Suite::gate, variant_of_family("tq4"), 0);
  EXPECT_NE(std::ranges::find(all, cases.front()), all.end());
}

// Many heads of prefill over many keys, and 64 queries over 4,096 keys, are for longer suites.
TEST(SuiteCoverage, TheGateLeavesFewPairsOutAndItsContextsAreLong) {
  std::size_t count = 0;
  for (const Family& family : all_families()) {
    if (family.of_variant) continue;  // only its variants have cases
    const kernels::Variant variant = variant_of_family(family.name());
    const std::vector<Case> cases = suite_cases(Suite::gate, variant, 0);
    const Coverage coverage = measure_coverage(Suite::gate, variant, cases);
    count += cases.size();
    const bool is_dense = family.name() == "bf16_prefill" || family.name() == "bf16_vec";
    EXPECT_LE(coverage.too_costly, is_dense ? coverage.values.possible / 100 : 0U) << family.name();
    if (coverage.median_length != 0) EXPECT_GE(coverage.median_length, 255) << family.name();
  }
  EXPECT_GE(count, 2000U);
}

TEST(SuiteCoverage, FullHoldsTheGate) {
  for (const Family& family : all_families()) {
    if (family.of_variant) continue;  // only its variants have cases
    const kernels::Variant variant = variant_of_family(family.name());
    const std::vector<Case> full = suite_cases(Suite::full, variant, 0);
    std::set<std::string> names;
    for (const Case& value : full) names.insert(format_case(value));
    EXPECT_EQ(names.size(), full.size()) << family.name();
    for (const Case& value : suite_cases(Suite::gate, variant, 0)) EXPECT_TRUE(names.contains(format_case(value))) << format_case(value);
  }
}

// What is dear only where a pair needs it: many heads over long contexts come with one query and one batch.
TEST(SuiteCoverage, DearCasesAreAsCheapAsTheyCanBe) {
  const Family& family = find_family("bf16_prefill");
  int dear = 0;
  for (const Case& value : suite_cases(Suite::gate, variant_of_family(family.name()), 0)) {
    if (family.work(value.values) <= kEverydayWork || is_on_file(value)) continue;
    ++dear;
    const bool many_heads = value.at("n_heads") >= 16, many_queries = value.at("queries") >= 16, two_batches = value.at("batches") == 2;
    EXPECT_FALSE(many_heads && many_queries && value.at("kv_len") >= 255) << format_case(value);
    EXPECT_FALSE(many_heads && two_batches && value.at("kv_len") >= 255) << format_case(value);
  }
  EXPECT_GT(dear, 50);
}

TEST(SuiteCoverage, LongContextsAreInTheFullSuiteWithFewHeads) {
  const std::vector<Case> cases = suite_cases(Suite::full, variant_of_family("tq4"), 0);
  for (const std::int64_t n : {8192, 32768, 65537}) {
    EXPECT_TRUE(std::ranges::any_of(cases, [&](const Case& c) { return c.at("kv_len") == n && c.fixture == "drift"; })) << n;
  }
  for (const Case& value : cases) {
    if (value.at("kv_len") >= 8192) EXPECT_LE(value.at("n_heads"), 2) << format_case(value);
  }
}

// possible_levels() says what can occur; this says that it does not deny what plainly can.
TEST(SuiteCoverage, TheEdgesAreThere) {
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
}

// A small design whose pairs and triples can be counted by hand: three factors of 2, 3 and 2 levels, level 1 of the first never
// together with level 2 of the second.
CoveringDesign small_design() {
  CoveringDesign design;
  design.levels = {2, 3, 2};
  design.allowed = [](std::span<const int> row) { return !(row[0] == 1 && row[1] == 2); };
  return design;
}

TEST(Covering, CountsPairsOfASmallDesign) {
  const CoveringDesign design = small_design();
  EXPECT_EQ(possible_levels(design).size(), 2U * 3 - 1 + 2 * 2 + 3 * 2);
  EXPECT_LE(covering_rows(design).size(), 9U);
  EXPECT_GE(covering_rows(design).size(), 5U) << "pairs of the first two factors";
}

TEST(Covering, CountsTriplesOfASmallDesign) {
  CoveringDesign design = small_design();
  design.levels.push_back(5);
  design.strength = 3;
  EXPECT_EQ(possible_levels(design).size(), 5U * 2 + 5 * 5 + 2 * 2 * 5 + 3 * 2 * 5);
  const std::vector<Row> rows = covering_rows(design);
  EXPECT_GE(rows.size(), 30U) << "triples of the last three factors";
  EXPECT_LT(rows.size(), 5U * 2 * 5) << "fewer than all allowed rows";
}

TEST(Covering, TriplesOfClassesCountLevelsOfTheFactorsThatAreClasses) {
  CoveringDesign design = small_design();
  design.classify = [](std::span<const int> row) { return std::vector<int>{row[0], row[1]}; };
  design.class_factors = {0, 1};
  design.level_classes = {2};
  EXPECT_EQ(possible_triples(design).size(), 5U * 2);
  EXPECT_EQ(covering_rows(design).size(), 10U) << "all triples of three factors are all allowed rows";
}

TEST(Covering, WithAsManyLevelsAsFactorsItIsTheWholeProduct) {
  CoveringDesign design = small_design();
  design.strength = 3;
  EXPECT_EQ(covering_rows(design).size(), 10U);
}

TEST(Covering, GivenRowsComeFirstAndAreCompleted) {
  const CoveringDesign design = small_design();
  const std::vector<Row> given = {{0, 2, 1}, {1, 1, 1}};
  const std::vector<Row> rows = covering_rows(design, given);
  ASSERT_GE(rows.size(), 5U);
  EXPECT_EQ(rows[0], given[0]);
  EXPECT_EQ(rows[1], given[1]);
  Combinations met;
  for (const Row& row : rows) {
    const std::vector<std::vector<int>> levels = {{row[0]}, {row[1]}, {row[2]}};
    add_levels(levels, 2, met);
  }
  EXPECT_EQ(met, possible_levels(design));
  EXPECT_EQ(covering_rows(design, rows), rows) << "a complete design needs no further row";
}

TEST(Covering, GivenACostItTakesTheCheapestRowThatHoldsACombination) {
  CoveringDesign design = small_design();
  design.cost = [](std::span<const int> row) {
    std::int64_t cost = 0;
    for (const int level : row) cost += level > 0 ? 10 - level : 0;  // level 0 costs nothing, 1 more than 2
    return cost;
  };
  design.cheapest_first = true;
  const std::vector<Row> rows = covering_rows(design);
  for (const Row& row : rows) {
    const auto zeros = std::ranges::count(row, 0);
    EXPECT_GE(zeros, 1) << "a pair needs two levels that are not 0, never three";
  }
  Combinations met;
  for (const Row& row : rows) {
    const std::vector<std::vector<int>> levels = {{row[0]}, {row[1]}, {row[2]}};
    add_levels(levels, 2, met);
  }
  EXPECT_EQ(met, possible_levels(design));
}

TEST(Suite, SmokeIsPartOfTheGateAndShort) {
  for (const Family& family : all_families()) {
    if (family.of_variant) continue;  // only its variants have cases
    const kernels::Variant variant = variant_of_family(family.name());
    const std::vector<Case> gate = suite_cases(Suite::gate, variant, 3);
    const std::vector<Case> smoke = suite_cases(Suite::smoke, variant, 3);
    EXPECT_GT(smoke.size(), 30U) << family.name();  // quantize and dequantize have few axes
    EXPECT_LE(smoke.size(), 100U) << family.name();
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

TEST(Suite, RepetitionsAreTheSameCasesWithOtherSeeds) {
  const std::vector<Case> cases = suite_cases(Suite::soak, variant_of_family("fwht"), 0);
  std::map<std::vector<std::int64_t>, std::set<std::uint64_t>> seeds;
  for (Case value : cases) {
    value.values.push_back(static_cast<std::int64_t>(std::hash<std::string>{}(value.fixture)));
    seeds[value.values].insert(value.seed);
  }
  for (const auto& [values, own] : seeds) EXPECT_EQ(own.size(), plan_of(Suite::soak).repetitions);
}

TEST(Suite, ALimitOfAnUnknownAxisNamesFileLineAndAxes) {
  kernels::Variant variant = variant_of_family("tq4");
  variant.description = "some/variant.toml";
  variant.limits.push_back({"nsg", {1}, 12});
  try {
    check_axis_names(variant);
    FAIL() << "nothing was refused";
  } catch (const kernels::VariantError& error) {
    for (const char* word : {"some/variant.toml:12:", "nsg", "head_dim", "nwg"}) EXPECT_THAT(error.what(), ::testing::HasSubstr(word));
  }
}

}  // namespace
}  // namespace assay::tests::suite_coverage_test
