// The command that holds a gate to recorded digests, and names the variants whose digests differ.
#include <gmock/gmock.h>

#include "tests/support/command.h"

namespace assay::tests::digests_test {
namespace {

using namespace ::testing;

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
}  // namespace assay::tests::digests_test
