// The digests that the gate is compared with: their file, and sums over halves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/findings/digests.h"

namespace assay::tests::gate_digests_test {
namespace {

using harness::CaseDigest;
using harness::DigestTable;
using namespace ::testing;

const std::vector<CaseDigest> kCases = {{"a/x", 1}, {"a/y", 2}, {"b/x", 3}, {"a/z", 4}};

TEST(GateDigests, AWholeGateIsMadeOfTheHalvesOfItsVariants) {
  const DigestTable whole = digests_of(kCases, {});
  EXPECT_THAT(whole, SizeIs(3));
  EXPECT_EQ(whole.at({"a", 0}).cases, 2U);
  const std::vector<CaseDigest> half = {kCases[0], kCases[3]};
  EXPECT_EQ(digests_of(half, {.index = 0, .count = 2}).at({"a", 0}), whole.at({"a", 0}));
  EXPECT_THROW(static_cast<void>(digests_of(half, {.index = 0, .count = 3})), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(digests_of(kCases, {.index = 0, .count = 2})), std::invalid_argument);
}

TEST(GateDigests, TheFileReadsBackAndRefusesWhatIsNone) {
  const DigestTable table = digests_of(kCases, {});
  EXPECT_EQ(harness::parse_digests(print_digests(table)), table);
  for (const char* text : {"a 1/2 3", "a 1/2 x 0123", "a 1/3 1 0123", "a 1/2 1 0123 more", "a 1/2 1 01\na 1/2 1 01"})
    EXPECT_THROW(static_cast<void>(harness::parse_digests(text)), std::invalid_argument) << text;
}

TEST(GateDigests, DifferencesAreNamedAndWhatIsNotRecordedIsNone) {
  const DigestTable table = digests_of(kCases, {});
  EXPECT_THAT(differing_digests(table, table), IsEmpty());
  std::vector<CaseDigest> other = kCases;
  other[1].digest ^= 1;
  EXPECT_THAT(differing_digests(table, digests_of(other, {})), testing::ElementsAre(HasSubstr("a 2/2: 1 cases")));
  EXPECT_THAT(differing_digests({}, table), IsEmpty());
  EXPECT_THAT(unrecorded_digests({}, table), SizeIs(3));
}

}  // namespace
}  // namespace assay::tests::gate_digests_test
