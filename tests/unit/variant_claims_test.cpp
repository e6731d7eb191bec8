// What variants claim of each other (`claims` in variant.toml) is so: outputs that are said to be the same bits are.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "families/registry.h"
#include "harness/cases/file_case.h"
#include "harness/cases/suite.h"
#include "harness/execute/execute.h"
#include "harness/findings/fault_text.h"
#include "tests/support/files.h"

namespace assay::tests::variant_claims_test {
namespace {

using namespace harness;

using namespace ::testing;

// A claim is tried on this many cases of the gate, those with the least work: enough for every fixture, and over in a second.
constexpr std::size_t kTriedCases = 24;

// The gate's cases of `claimant` that the claim is about and that `other` takes as well.
std::vector<Case> cases_of(const kernels::Claim& claim, const kernels::Variant& claimant, const kernels::Variant& other) {
  std::vector<Case> cases = suite_cases(Suite::gate, claimant, 0);
  std::erase_if(cases, [&](const Case& test_case) {
    const bool is_meant =
        std::ranges::all_of(claim.where, [&](const auto& condition) { return test_case.at(condition.first) == condition.second; });
    return !is_meant || is_on_file(test_case) || !within_limits(other, test_case);
  });
  std::ranges::sort(cases, {},
                    [](const Case& test_case) { return std::pair(test_case.family->work(test_case.values), format_case(test_case)); });
  cases.resize(std::min(cases.size(), kTriedCases));
  return cases;
}

// How the claim is broken, a line per case; empty if it holds.
std::vector<std::string> try_claim(const kernels::Claim& claim, const kernels::Variant& claimant,
                                   const std::vector<kernels::Variant>& all) {
  const auto other = std::ranges::find(all, claim.same_bits_as, &kernels::Variant::name);
  if (other == all.end() || other->family != claimant.family)
    return {fmt::format("{} claims the bits of {}, which is no variant of family {}", claimant.name, claim.same_bits_as, claimant.family)};
  std::vector<Case> cases = cases_of(claim, claimant, *other);
  if (cases.empty()) return {fmt::format("{} claims {}, and no case of the gate is one of these", claimant.name, claim.text)};
  const std::size_t tried = cases.size();
  for (std::size_t i = 0; i < tried; ++i) {
    cases.push_back(cases[i]);
    cases.back().variant = other->name;
  }
  const Workbench workbench(all, cases, {});
  std::vector<std::string> broken;
  for (std::size_t i = 0; i < tried; ++i) {
    const Verdict mine = execute_case(workbench.find(claimant.name), cases[i], {});
    const Verdict theirs = execute_case(workbench.find(other->name), cases[tried + i], {});
    if (mine.judgement.compared == 0 || theirs.judgement.compared == 0)
      broken.push_back(fmt::format("{}: nothing to compare: {}{}", format_case(cases[i]), reason_of(mine), reason_of(theirs)));
    else if (mine.digest != theirs.digest)
      broken.push_back(fmt::format("{} has other bits than {}", format_case(cases[i]), format_case(cases[tried + i])));
  }
  return broken;
}

TEST(VariantClaims, OfOurVariantsHold) {
  const std::vector<kernels::Variant> all = kernels::find_variants(kernels::default_variants_directory(), families::contracts());
  for (const kernels::Variant& variant : all) {
    check_axis_names(variant);
    for (const kernels::Claim& claim : variant.claims) {
      // The gate tests the others.
      if (!claim.same_bits_as.empty()) EXPECT_THAT(try_claim(claim, variant, all), IsEmpty()) << claim.text;
    }
  }
}

// fwht_v1 beside a twin that claims its bits: in one the source is the same, in the other the last factor is one unit in the last place off
// where num_heads is not 1.
const std::string kFactor = "x[e] *= scale;";
const std::string kOneUnitOff = "x[e] *= params.num_heads == 1 ? scale : scale * 1.00000012f;";

class PlantedClaims : public ::testing::Test {
 protected:
  std::vector<std::string> broken(const std::string& claim, const std::string& from = {}, const std::string& to = {}) const {
    std::string text = source_of("fwht_v1");
    plant("fwht_v1", text, "");
    if (!from.empty()) {
      EXPECT_NE(text.find(from), std::string::npos) << from;
      for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
    }
    plant("twin", text, fmt::format("claims = [\"{}\"]\n", claim));
    const std::vector<kernels::Variant> all = kernels::find_variants(folder_.path(), families::contracts());
    const auto twin = std::ranges::find(all, "twin", &kernels::Variant::name);
    check_axis_names(*twin);
    return try_claim(twin->claims.front(), *twin, all);
  }

 private:
  void plant(const std::string& name, const std::string& kernel, const std::string& claims) const {
    std::filesystem::create_directories(folder_.path() / name);
    std::ofstream(folder_.path() / name / "kernel.metal") << kernel;
    std::ofstream(folder_.path() / name / "variant.toml") << "family = \"fwht\"\nsource = \"kernel.metal\"\n" << claims;
  }
  TemporaryFolder folder_;
};

TEST_F(PlantedClaims, HoldOfACopy) { EXPECT_THAT(broken("same_bits_as:fwht_v1"), IsEmpty()); }

TEST_F(PlantedClaims, AreBrokenByOneBit) {
  const std::vector<std::string> found = broken("same_bits_as:fwht_v1", kFactor, kOneUnitOff);
  ASSERT_FALSE(found.empty());
  EXPECT_THAT(found.front(), HasSubstr("has other bits than fwht_v1/"));
}

TEST_F(PlantedClaims, AreHeldToWhatTheySpeakOfAlone) {
  EXPECT_THAT(broken("same_bits_as:fwht_v1@num_heads=1", kFactor, kOneUnitOff), IsEmpty());
  EXPECT_FALSE(broken("same_bits_as:fwht_v1@num_heads=2", kFactor, kOneUnitOff).empty());
}

TEST_F(PlantedClaims, ThatCannotBeTriedAreBroken) {
  EXPECT_THAT(broken("same_bits_as:fwht_v9").front(), HasSubstr("no variant of family fwht"));
  EXPECT_THAT(broken("same_bits_as:fwht_v1@num_heads=1000000").front(), HasSubstr("no case of the gate"));
  EXPECT_THROW(broken("same_bits_as:fwht_v1@heads=1"), kernels::VariantError);
}

}  // namespace
}  // namespace assay::tests::variant_claims_test
