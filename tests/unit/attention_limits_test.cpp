// Family `attention`: which values of the axes the limits of a variant admit, and which cases have them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "families/registry.h"
#include "harness/cases/case.h"
#include "harness/cases/suite.h"
#include "kernels/axis_text.h"
#include "kernels/variant.h"
#include "tests/unit/attention_variants.h"

namespace assay::tests::attention_limits_test {
namespace {

using namespace ::testing;

TEST(AttentionLimits, FeaturesThatAreNotMentionedKeepTheirFirstValue) {
  const kernels::Variant variant = attention_variant("[limits]\ndk = [64]\nmask = [\"causal\", \"none\"]\n");
  const auto limit = [&](std::string_view axis) { return std::ranges::find(variant.limits, axis, &kernels::AxisLimit::axis)->values; };
  EXPECT_THAT(limit("mask"), ElementsAre(1, 0));
  EXPECT_THAT(limit("sinks"), ElementsAre(0));
  EXPECT_THAT(limit("page_size"), ElementsAre(16));
  EXPECT_THAT(limit("blocks"), ElementsAre(1));
  EXPECT_EQ(kernels::axis_text(*variant.contract, "mask", 1), "causal");
  EXPECT_EQ(kernels::axis_text(*variant.contract, "lk", 1), "1");
  try {
    static_cast<void>(attention_variant("[limits]\ndk = [64]\nmask = [\"tree\"]\n"));
    ADD_FAILURE();
  } catch (const kernels::VariantError& error) {
    EXPECT_THAT(error.what(), HasSubstr("[limits] mask is 'tree'; accepted: none, causal, window"));
  }
}

TEST(AttentionLimits, NumbersOutsideOfTheTablesAreTested) {
  const kernels::Variant variant = attention_variant("[limits]\ndk = [100]\nlq = [5]\nblocks = [6]\nlk = [777]\n");
  const std::vector<harness::Case> cases = harness::suite_cases(harness::Suite::gate, variant, 0);
  ASSERT_FALSE(cases.empty());
  for (const harness::Case& test_case : cases) {
    EXPECT_EQ(test_case.at("dk"), 100);
    EXPECT_EQ(test_case.at("dv"), 100);
    EXPECT_EQ(test_case.at("lq"), 5);
    EXPECT_EQ(test_case.at("lk"), 777);
    EXPECT_EQ(test_case.at("blocks"), 6);
  }
}

// The pairs of head sizes in the gate of a variant with these limits.
std::set<std::string> dims_of(const std::string& limits) {
  std::set<std::string> dims;
  for (const harness::Case& test_case : harness::suite_cases(harness::Suite::gate, attention_variant("[limits]\n" + limits), 0))
    dims.insert(std::to_string(test_case.at("dk")) + "x" + std::to_string(test_case.at("dv")));
  return dims;
}

TEST(AttentionLimits, EveryAdmittedPairOfHeadSizesIsTested) {
  const std::string others = "type = [\"float\"]\nlq = [1]\nlk = [33]\n";
  EXPECT_THAT(dims_of("dk = [64, 96]\ndv = [96, 64]\n" + others), ElementsAre("64x64", "64x96", "96x64", "96x96"));
  EXPECT_THAT(dims_of("dk = [64, 100]\ndv = \"dk\"\n" + others), ElementsAre("100x100", "64x64"));
  EXPECT_THAT(dims_of("dk = [64, 192]\ndv = [\"dk\", \"192x128\"]\n" + others), ElementsAre("192x128", "192x192", "64x64"));
  EXPECT_THAT(dims_of("dk = [64, 192]\ndv = [32, \"192x128\"]\n" + others), ElementsAre("192x128", "192x32", "64x32"));
  EXPECT_THAT(dims_of("dk = [64, 192]\n" + others), ElementsAre("192x128", "192x192", "64x64"));
}

TEST(AttentionLimits, WrongPairsOfHeadSizesAreNamed) {
  const auto message = [](const std::string& dv) -> std::string {
    try {
      static_cast<void>(attention_variant("[limits]\ndk = [64]\ndv = " + dv + "\n"));
    } catch (const kernels::VariantError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(message("\"192x128\""), HasSubstr("[limits] dv is '192x128', but dk is never 192"));
  EXPECT_THAT(message("[\"dq\"]"), HasSubstr("[limits] dv is 'dq'; accepted: integers, 'dk' for the same value"));
}

TEST(AttentionLimits, PairsWindowsAndPagesOutsideOfTheTablesAreTested) {
  const kernels::Variant variant = attention_variant(
      "[limits]\ndk = [48]\ndv = [40]\nh = [12]\ng = [3]\nmask = [\"causal_window\"]\nwindow = [100]\ncache = [\"paged\"]\npage_size = "
      "[64]\n");
  const std::vector<harness::Case> cases = harness::suite_cases(harness::Suite::smoke, variant, 0);
  ASSERT_FALSE(cases.empty());
  for (const harness::Case& test_case : cases) {
    EXPECT_EQ(test_case.at("dk") * 1000 + test_case.at("dv"), 48040);
    EXPECT_EQ(test_case.at("h") * 1000 + test_case.at("g"), 12003);
    EXPECT_EQ(test_case.at("window") * 1000 + test_case.at("page_size"), 100064);
  }
}

// All that a kernel can declare, with few sizes.
const std::string kEverything =
    "dk = [64, 192]\ndv = [\"dk\", \"192x128\"]\nk_type = [\"same\", \"half\", \"q8_0\"]\nv_type = [\"same\", \"q4_0\"]\n"
    "mask = [\"none\", \"causal\", \"window\", \"causal_window\", \"boolean\", \"additive\", \"alibi\", \"causal_alibi\"]\n"
    "window = [0, 1, 31, 100]\nmask_type = [\"same\", \"half\"]\nmask_planes = [\"shared\", \"head\", \"batch\", \"both\"]\n"
    "mask_gaps = [\"no\", \"yes\"]\noffset = [\"end\", \"zero\", \"other\"]\nsoftcap = [0, 30]\nscale = [\"root\", \"one\"]\n"
    "cache = [\"contiguous\", \"capacity\", \"ring\", \"paged\"]\npage_size = [8, 16]\nlayout = [\"bhld\", \"blhd\", \"packed\"]\n"
    "shared_kv = [\"no\", \"yes\"]\ngaps = [\"no\", \"kv\", \"inputs\", \"all\"]\nblocks = [1, 3, 40]\nnsg = [1, 4]\n";

// Of everything, and of kernels whose first or only values are the ones that contradict others: where a design notices that late, it takes
// hours.
std::vector<std::string> limits_with_contradictions() {
  const std::string ragged = "ragged = [\"no\", \"yes\", \"empty\"]\n";
  const std::string sinks = "sinks = [\"no\", \"yes\", \"typed\"]\n";
  return {kEverything + sinks + ragged,
          kEverything + "lq = [1]\n" + sinks + ragged,
          kEverything + "lq = [2, 8]\n" + sinks + ragged,
          kEverything + "sinks = [\"yes\"]\n" + ragged,
          kEverything + sinks + "ragged = [\"yes\"]\n",
          "dk = [64]\nmask = [\"none\", \"alibi\"]\n" + sinks + ragged,
          "dk = [64]\nmask = [\"causal_alibi\"]\nlq = [1]\n" + sinks + ragged};
}

TEST(AttentionLimits, NoSuiteHasACaseThatTheFamilyRefuses) {
  for (const std::string& limits : limits_with_contradictions()) {
    const kernels::Variant variant = attention_variant("[limits]\n" + limits);
    for (const std::uint64_t seed : {0, 77, 900000}) {
      for (const harness::Suite suite : {harness::Suite::smoke, harness::Suite::gate, harness::Suite::negative}) {
        for (const harness::Case& one : harness::suite_cases(suite, variant, seed))
          EXPECT_NO_THROW(one.family->validate(one)) << harness::format_case(one) << " with\n" << limits;
      }
    }
  }
}

// Of few features, because a design of all triples of all takes minutes.
TEST(AttentionLimits, NoLongSuiteHasACaseThatTheFamilyRefuses) {
  kernels::Variant variant = attention_variant("[limits]\n" + limits_with_contradictions().back());
  variant.description.clear();  // designs are kept with its text
  for (const harness::Suite suite : {harness::Suite::full, harness::Suite::soak, harness::Suite::longest}) {
    for (const harness::Case& one : harness::suite_cases(suite, variant, 5000))
      EXPECT_NO_THROW(one.family->validate(one)) << harness::format_case(one);
  }
}

}  // namespace
}  // namespace assay::tests::attention_limits_test
