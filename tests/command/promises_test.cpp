// Duties of a kernel beyond its own output, and what is reported once before any case runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/command.h"

namespace assay::tests {
namespace {

using namespace ::testing;

class CliPromises : public Cli {};

const std::string kFamily = " --family tq4 --set temperature=1";
const std::string kIdleCase = "run kernel/d256/h2x2/kv33c33/ring0/nomask/nwg4/gauss/s1 --set tile=32" + kFamily + " --kernel ";

TEST_F(CliPromises, AWorkgroupWithoutKeysLeavesNeutralPartials) {
  const Outcome right = run_assay(kIdleCase + write(independent_kernel()));
  EXPECT_EQ(right.status, 0) << right.output;

  // Each of these merges to the same attention, as workgroups 2 and 3 have no weight.
  const std::vector<std::pair<std::string, std::string>> mistakes = {
      {"tail[1] = state.s == 0 ? -INFINITY : state.m;", "M = -FLT_MAX/2, but wrote -inf"},
      {"tail[1] = state.s == 0 ? -65504.0f : state.m;", "M = -FLT_MAX/2, but wrote -65504"},
      {"if (state.s != 0) tail[1] = state.m;", "M = -FLT_MAX/2, but did not write it"},
  };
  for (const auto& [planted, text] : mistakes) {
    const Outcome outcome = run_assay(kIdleCase + with("tail[1] = state.m;", planted));
    EXPECT_EQ(outcome.status, 1) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr("workgroup 2 of head 0 has no chunk (kv_len 33, 32 slots each) and must write " + text));
  }
}

TEST_F(CliPromises, AValueThatDoesNotFitIsReportedOnceBeforeAnyCase) {
  for (const char* value : {"70000", "-1", "1.5"}) {
    const Outcome outcome = run_assay("run smoke --set tile=" + std::string(value) + kFamily + " --kernel " + write(independent_kernel()));
    EXPECT_EQ(outcome.status, 2) << outcome.output;
    for (const char* word : {"kernel.metal:", "decode_tq_256", "'tile'", "ushort", value}) EXPECT_THAT(outcome.output, HasSubstr(word));
    EXPECT_THAT(outcome.output, Not(HasSubstr("rejected")));
  }
}

TEST_F(CliPromises, AFieldThatIsAStructIsReportedOnceBeforeAnyCase) {
  const std::string kernel = with("  float temperature;", "  struct { uint a; } inner;\n  float temperature;");
  const Outcome outcome = run_assay("run smoke --set tile=32 --set inner=0" + kFamily + " --kernel " + kernel);
  EXPECT_EQ(outcome.status, 2) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("'inner'"));
  EXPECT_THAT(outcome.output, Not(HasSubstr("rejected")));
}

TEST_F(CliPromises, AdditionalFieldsShareALine) {
  const Outcome outcome = run_assay(kIdleCase + write(independent_kernel()));
  EXPECT_THAT(outcome.output, HasSubstr("struct Args has the additional field tile, temperature"));
}

TEST_F(CliPromises, AFileWithoutAnyKernelIsCalledThat) {
  const Outcome outcome = run_assay("run smoke --family tq4 --kernel " + write("// nothing here\n"));
  EXPECT_EQ(outcome.status, 2) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("kernel.metal: not a kernel of family tq4: the file has no kernel function"));
}

// Nothing of head dimension 384 exists, so nothing is said of a reduce either.
TEST_F(CliPromises, ARefusedHeadDimensionSaysNothingOfAReduce) {
  const Outcome outcome = run_assay("run kernel/d384/h2x2/kv33c33/ring0/nomask/nwg4/gauss/s1" + kFamily + " --set tile=32 --kernel " +
                                    write(independent_kernel()));
  EXPECT_EQ(outcome.status, 1) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("head_dim = 384"));
  EXPECT_THAT(outcome.output, Not(HasSubstr("its own reduce")));
}

TEST_F(CliPromises, AStageThatCannotBeJudgedHasNoFigure) {
  const Outcome outcome = run_assay(kIdleCase + with("tail[1] = state.m;", "tail[1] = NAN;"));
  EXPECT_EQ(outcome.status, 1) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("reduce of reduce_v1: not judged (partials hold nan"));
}

}  // namespace
}  // namespace assay::tests
