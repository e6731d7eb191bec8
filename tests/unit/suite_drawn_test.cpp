// The cases that a suite draws from its seed: valid, the same again, and with every value of an axis often enough.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "families/draw.h"
#include "harness/cases/file_case.h"
#include "harness/cases/suite.h"

namespace assay::tests::suite_drawn_test {
namespace {

using namespace harness;
using namespace ::testing;

constexpr std::uint64_t kSeed = 7000;

kernels::Variant variant_of(std::string_view family, std::string_view name = "some_v1") {
  kernels::Variant variant;
  variant.name = name;
  variant.family = family;
  return variant;
}

std::set<std::vector<std::int64_t>> values_of(const std::vector<Case>& cases) {
  std::set<std::vector<std::int64_t>> values;
  for (const Case& value : cases) values.insert(value.values);
  return values;
}

std::vector<Case> drawn(Suite suite, const kernels::Variant& variant, std::uint64_t seed) {
  const auto designed = values_of(suite_cases(suite, variant, 0));
  std::vector<Case> cases;
  for (Case& value : suite_cases(suite, variant, seed)) {
    if (!designed.contains(value.values)) cases.push_back(std::move(value));
  }
  return cases;
}

TEST(DrawnCases, EveryDrawIsValid) {
  for (const Family& family : all_families()) {
    if (family.of_variant) continue;  // only its variants have cases
    std::size_t index = 0;
    for (Case value : suite_cases(Suite::full, variant_of(family.name()), 0)) {
      if (is_on_file(value)) continue;
      families::Draw draw(kSeed, family.name(), ++index);
      family.draw(draw, value.values);
      EXPECT_NO_THROW(family.validate(value)) << format_case(value);
      EXPECT_EQ(parse_case(format_case(value), family), value) << format_case(value);
    }
    EXPECT_GT(index, 100U);
  }
}

TEST(DrawnCases, AreThereWithASeedOnlyAndAllDifferent) {
  for (const Family& family : all_families()) {
    if (family.of_variant) continue;  // only its variants have cases
    const kernels::Variant variant = variant_of(family.name());
    const std::vector<Case> all = suite_cases(Suite::full, variant, kSeed);
    EXPECT_EQ(all.size(), suite_cases(Suite::full, variant, 0).size() + plan_of(Suite::full).drawn) << family.name();
    std::set<std::string> names;
    for (const Case& value : all) names.insert(format_case(value));
    EXPECT_EQ(names.size(), all.size()) << family.name();
    EXPECT_THAT(drawn(Suite::gate, variant, kSeed), SizeIs(Gt(plan_of(Suite::gate).drawn / 2))) << family.name();
    EXPECT_THAT(drawn(Suite::smoke, variant, kSeed), IsEmpty()) << family.name();
  }
}

TEST(DrawnCases, DependOnTheSeedAndNotOnTheVariant) {
  for (const Family& family : all_families()) {
    if (family.of_variant) continue;  // only its variants have cases
    const auto once = values_of(drawn(Suite::gate, variant_of(family.name()), kSeed));
    EXPECT_EQ(values_of(drawn(Suite::gate, variant_of(family.name(), "another_v7"), kSeed)), once) << family.name();
    EXPECT_NE(values_of(drawn(Suite::gate, variant_of(family.name()), kSeed + 1)), once) << family.name();
  }
}

TEST(DrawnCases, KeepToTheLimitsOfTheVariant) {
  kernels::Variant variant = variant_of("tq4");
  variant.limits.push_back({"head_dim", {256}, 1});
  const std::vector<Case> cases = drawn(Suite::full, variant, kSeed);
  EXPECT_THAT(cases, SizeIs(Gt(900U)));
  for (const Case& value : cases) EXPECT_EQ(value.at("head_dim"), 256);
}

// A kernel that is wrong for one number of heads or rows only is missed by a run of `full` with this probability at most
// (docs/CASES.md). The share of the cases is that of five seeds.
TEST(DrawnCases, FullSeldomMissesASingleNumber) {
  struct Axis {
    std::string_view family, name;
    std::int64_t number;
  };
  for (const auto& [family, axis, number] : {Axis{"tq4", "n_heads", 16},
                                             {"tqhb", "n_heads", 16},
                                             {"tq4", "n_heads", 13},
                                             {"bf16_vec", "n_heads", 16},
                                             {"bf16_prefill", "n_heads", 16},
                                             {"quantize", "num_kv_heads", 16},
                                             {"dequantize", "num_kv_heads", 16},
                                             {"fwht", "num_heads", 16},
                                             {"reduce", "nrows", 16},
                                             {"reduce", "nwg", 16},
                                             {"tq4", "nwg", 13},
                                             {"bf16_vec", "queries", 13}}) {
    const kernels::Variant variant = variant_of(family);
    double hits = 0;
    constexpr int kSeeds = 5;
    for (int i = 0; i < kSeeds; ++i) {
      for (const Case& value : drawn(Suite::full, variant, kSeed + static_cast<std::uint64_t>(i) * 1000)) hits += value.at(axis) == number;
    }
    const double draws = static_cast<double>(plan_of(Suite::full).drawn);
    const double missed = std::pow(1 - hits / kSeeds / draws, draws);
    RecordProperty(std::string(family) + "." + std::string(axis), std::to_string(missed));
    EXPECT_LT(missed, 0.02) << family << ' ' << axis << " = " << number << ": " << hits / kSeeds << " of " << draws;
    std::printf("%s %s = %d: %.1f of %.0f drawn cases; missed with probability %.1g\n", std::string(family).c_str(),
                std::string(axis).c_str(), static_cast<int>(number), hits / kSeeds, draws, missed);
  }
}

}  // namespace
}  // namespace assay::tests::suite_drawn_test
