// What families say that their contracts leave out: complete, and with cases that are valid and that nothing else contains.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "harness/cases/suite.h"
#include "harness/findings/beyond.h"
#include "harness/ledger/ledger.h"
#include "reports/beyond.h"

namespace assay::tests::omissions_test {
namespace {

using namespace harness;
using namespace ::testing;

kernels::Variant variant_of(const Family& family, const std::vector<std::string>& claims = {}) {
  kernels::Variant variant;
  variant.name = "some_v1";
  variant.family = family.name();
  variant.contract = &family.contract;
  variant.description = "some_v1/variant.toml";
  for (const std::string& claim : claims) variant.claims.push_back({claim, {}, claim, {}, 3});
  return variant;
}

std::vector<std::string> ids_of(const std::vector<Case>& cases) {
  std::vector<std::string> ids;
  for (const Case& value : cases) {
    if (!value.beyond.empty() && (ids.empty() || ids.back() != value.beyond)) ids.push_back(value.beyond);
  }
  return ids;
}

TEST(Omissions, EveryFamilyHasSomeWithUniqueIdsAndAbilitiesThatACaseShows) {
  for (const Family& family : families::all_families()) {
    EXPECT_GE(family.omissions.size(), 4U) << family.name();
    std::set<std::string_view> ids;
    for (const Omission& omission : family.omissions) {
      EXPECT_TRUE(ids.insert(omission.id).second) << family.name() << " " << omission.id;
      EXPECT_TRUE(omission.sentence.ends_with(".")) << omission.sentence;
      const bool has_cases = !omission.cases.empty() || omission.suits != nullptr || omission.same_bits.has_value();
      EXPECT_EQ(has_cases, !omission.ability.empty()) << family.name() << " " << omission.id;
    }
  }
}

TEST(Omissions, TheirCasesAreValidAndParseBack) {
  for (const Family& family : families::all_families()) {
    if (family.of_variant) continue;
    const std::vector<Case> cases = suite_cases(Suite::negative, variant_of(family), 0);
    std::set<std::string_view> shown;
    for (const Case& value : cases) {
      EXPECT_EQ(parse_case(format_case(value), family), value) << format_case(value);
      EXPECT_NO_THROW(family.validate(value)) << format_case(value);
      EXPECT_EQ(beyond_of(format_case(value)), value.beyond);
      shown.insert(omission_of(value)->id);
    }
    for (const Omission& omission : family.omissions) EXPECT_EQ(shown.contains(omission.id), !omission.ability.empty()) << omission.id;
  }
}

TEST(Omissions, AGateHasTheCasesOfClaimsOnly) {
  const Family& family = find_family("tqhb");
  EXPECT_THAT(ids_of(suite_cases(Suite::gate, variant_of(family), 0)), IsEmpty());
  const kernels::Variant claiming = variant_of(family, {"softcap", "same_bits_for_every_nsg"});
  EXPECT_THAT(ids_of(suite_cases(Suite::gate, claiming, 0)), ElementsAre("softcap", "same_bits_for_every_nsg"));
  EXPECT_THAT(ids_of(suite_cases(Suite::smoke, claiming, 0)), IsEmpty());
  EXPECT_THAT(ids_of(suite_cases(Suite::negative, claiming, 0)), Contains("partial_ring"));
}

TEST(Omissions, CasesOfTheSameBitsDifferInOneAxisWithinTheLimits) {
  kernels::Variant variant = variant_of(find_family("tqhb"));
  variant.limits = {{"nsg", {1, 4}, 7, false}};
  const Case value =
      parse_case("some_v1/d256/b8/h1x1/kv65c65/ring0/nomask/nwg2/nsg4/gauss/s1/beyond-same_bits_for_every_nsg", find_family("tqhb"));
  const std::vector<Case> others = cases_of_same_bits(variant, value);
  ASSERT_EQ(others.size(), 1U);
  Case expected = value;
  expected.values[expected.family->axis_index("nsg")] = 1;
  EXPECT_EQ(others.front(), expected);
  Case plain = value;
  plain.beyond.clear();
  EXPECT_THAT(cases_of_same_bits(variant, plain), IsEmpty());
}

TEST(Omissions, OnlyAClaimMakesAFailureOfACase) {
  const Family& family = find_family("tq4");
  const auto settled = [&](Status status, const std::vector<std::string>& claims, const std::string& beyond = "softcap") {
    Verdict verdict;
    verdict.test_case = parse_case("some_v1/d256/h1x1/kv65c65/ring0/nomask/nwg2/gauss/s1", family);
    verdict.test_case.beyond = beyond;
    verdict.status = status;
    if (status != Status::passed) verdict.faults = {fault::Nan{3}};
    settle_beyond(variant_of(family, claims), verdict);
    return std::pair(verdict.status, verdict.faults.empty() ? FaultKind::told : verdict.faults.front().kind());
  };
  EXPECT_EQ(settled(Status::failed, {}), std::pair(Status::not_required, FaultKind::not_required));
  EXPECT_EQ(settled(Status::crashed, {"partial_ring"}), std::pair(Status::not_required, FaultKind::not_required));
  EXPECT_EQ(settled(Status::failed, {"softcap"}), std::pair(Status::failed, FaultKind::broken_claim));
  EXPECT_EQ(settled(Status::crashed, {"softcap"}), std::pair(Status::crashed, FaultKind::broken_claim));
  EXPECT_EQ(settled(Status::skipped, {}), std::pair(Status::skipped, FaultKind::nan));
  EXPECT_EQ(settled(Status::skipped, {"softcap"}), std::pair(Status::failed, FaultKind::broken_claim));
  EXPECT_EQ(settled(Status::passed, {"softcap"}), std::pair(Status::passed, FaultKind::told));
  // What proves nothing is a failure in any case, and so is a case that the contract covers.
  EXPECT_EQ(settled(Status::mistrusted, {}), std::pair(Status::mistrusted, FaultKind::nan));
  EXPECT_EQ(settled(Status::failed, {"softcap"}, ""), std::pair(Status::failed, FaultKind::nan));
}

TEST(Omissions, StatementsSayWhatCasesShow) {
  const auto record = [](const std::string& seed, Status status) {
    CaseRecord one;
    one.variant = "some_v1";
    one.family = "tq4";
    one.name = "some_v1/d256/" + seed + "/beyond-softcap";
    one.status = status;
    return one;
  };
  const auto text = [](const std::vector<CaseRecord>& cases) { return reports::statement_text(reports::statements(cases).front()); };
  EXPECT_EQ(text({record("s1", Status::passed), record("s2", Status::passed)}), "some_v1 does apply a softcap: 2 of 2 cases");
  EXPECT_EQ(text({record("s1", Status::passed), record("s2", Status::not_required), record("s3", Status::skipped)}),
            "some_v1 does not apply a softcap (not required by the contract): 1 of 2 cases, 1 skipped, the first "
            "some_v1/d256/s2/beyond-softcap");
  EXPECT_EQ(text({record("s1", Status::failed)}),
            "some_v1 does not apply a softcap: 1 of 1 case, the first some_v1/d256/s1/beyond-softcap");
  CaseRecord plain = record("s1", Status::failed);
  plain.name = "some_v1/d256/s1";
  EXPECT_THAT(reports::statements(std::vector{plain}), IsEmpty());
}

}  // namespace
}  // namespace assay::tests::omissions_test
