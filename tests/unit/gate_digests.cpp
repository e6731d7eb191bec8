// The digests that the gate is held to: their file, sums over halves, and the command that says which variants have other bits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/run/digests.h"
#include "tests/unit/cli_command.h"

namespace assay::tests {
namespace {

using harness::CaseDigest;
using harness::DigestTable;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

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

class GateDigestCommand : public Cli {};

TEST_F(GateDigestCommand, HoldsAGateToWhatWasRecordedAndFailsWhereABitDiffers) {
  const std::string file = (folder_ / "digests.txt").string();
  const std::string gate = "gate --family dequantize --ledger none ";
  const Outcome recorded = run_assay(gate + "--record-digests '" + file + "'");
  ASSERT_EQ(recorded.status, 0) << recorded.output;
  const std::string text = read_file(file);
  const Outcome equal = run_assay(gate + "--expect-digests '" + file + "'");
  EXPECT_EQ(equal.status, 0) << equal.output;
  const Outcome half = run_assay(gate + "--shard 2/2 --expect-digests '" + file + "'");
  EXPECT_EQ(half.status, 0) << half.output;
  EXPECT_THAT(half.output, Not(HasSubstr("no digest is recorded")));

  std::string spoilt = text;
  char& last = spoilt[spoilt.find("\ndequantize_v1 2/2") - 1];
  last = last == '0' ? '1' : '0';
  std::ofstream(file) << spoilt;
  const Outcome differs = run_assay(gate + "--expect-digests '" + file + "'");
  EXPECT_EQ(differs.status, 1) << differs.output;
  EXPECT_THAT(differs.output, AllOf(HasSubstr("digest differs: dequantize_v1 1/2: "), Not(HasSubstr("dequantize_v1 2/2:")),
                                    HasSubstr("assay gate --record-digests")));
  EXPECT_EQ(run_assay(gate + "--shard 2/2 --expect-digests '" + file + "'").status, 0);
}

TEST_F(GateDigestCommand, RefusesWhatNothingIsRecordedOf) {
  const std::string file = write("# nothing\n", "digests.txt");
  EXPECT_EQ(run_assay("run smoke --family dequantize --ledger none --expect-digests '" + file + "'").status, 2);
  EXPECT_EQ(run_assay("gate --family dequantize --seed 1 --ledger none --expect-digests '" + file + "'").status, 2);
}

}  // namespace
}  // namespace assay::tests
