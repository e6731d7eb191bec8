// The suite of long contexts: which lengths every attention variant gets, and that the gate has none of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "families/registry.h"
#include "harness/cases/suite.h"
#include "kernels/variant.h"

namespace assay::tests::suite_long_test {
namespace {

using namespace ::testing;
using harness::Case;
using harness::Suite;

std::vector<kernels::Variant> variants() { return kernels::find_variants(kernels::default_variants_directory(), families::contracts()); }

std::int64_t length_of(const Case& value) { return value.at(std::ranges::find_if(value.family->axes, &families::Axis::is_length)->name); }

const std::set<std::string> kAttention = {"tq4", "tqhb", "bf16_vec", "bf16_prefill", "attention"};

TEST(SuiteLong, EveryAttentionVariantHasAFewLongCases) {
  std::map<std::string, std::set<std::int64_t>> lengths;
  for (const kernels::Variant& variant : variants()) {
    const std::vector<Case> cases = suite_cases(Suite::longest, variant, 0);
    if (!kAttention.contains(variant.family)) {
      EXPECT_THAT(cases, IsEmpty()) << variant.name;
      continue;
    }
    EXPECT_LE(cases.size(), 6U) << variant.name;
    if (!variant.superseded_by) EXPECT_GE(cases.size(), 2U) << variant.name;
    for (const Case& value : cases) {
      EXPECT_TRUE(harness::is_valid(value)) << harness::format_case(value);
      EXPECT_TRUE(harness::within_limits(variant, value)) << harness::format_case(value);
      EXPECT_GE(length_of(value), 65536) << harness::format_case(value);
      lengths[variant.family].insert(length_of(value));
    }
  }
  for (const std::string& family : kAttention)
    EXPECT_THAT(lengths[family], ElementsAre(65536, 65573, 131072, 262144, 524288, 1048576)) << family;
}

TEST(SuiteLong, IsNotInTheGate) {
  for (const kernels::Variant& variant : variants()) {
    std::set<std::string> longest;
    for (const Case& value : suite_cases(Suite::longest, variant, 0)) longest.insert(harness::format_case(value));
    for (const Case& value : suite_cases(Suite::gate, variant, 0))
      EXPECT_FALSE(longest.contains(harness::format_case(value))) << harness::format_case(value);
  }
}

TEST(SuiteLong, ASeedChangesTheData) {
  for (const kernels::Variant& variant : variants()) {
    std::vector<Case> shifted = suite_cases(Suite::longest, variant, 5000);
    for (Case& value : shifted) value.seed -= 5000;
    EXPECT_EQ(shifted, suite_cases(Suite::longest, variant, 0)) << variant.name;
  }
}

}  // namespace
}  // namespace assay::tests::suite_long_test
