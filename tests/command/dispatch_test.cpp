// The commands that print and check traces, and their exit statuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/support/command.h"

namespace assay::tests {
namespace {

namespace fs = std::filesystem;
using namespace ::testing;

const fs::path kGolden = kRoot / "tests/golden/dispatch";
const std::string kCase = "tq4_v1/d256/h8x2/kv65c65/ring30/win33/nwg2/gauss/s7";

// The trace of kCase as a host with a wrong ring_start records it.
std::string off_by_one() { return replaced(read_file(kGolden / "recorded_by_host.json"), "1e000000\"", "1d000000\""); }

TEST_F(Cli, DispatchPrintsTheTrace) {
  const Outcome json = run_assay("dispatch " + kCase + " --json");
  EXPECT_EQ(json.status, 0);
  EXPECT_EQ(json.output, read_file(kGolden / "tq4.json"));
  const Outcome text = run_assay("dispatch " + kCase);
  EXPECT_EQ(text.status, 0);
  EXPECT_THAT(text.output, AllOf(HasSubstr("2 dispatches"), HasSubstr("40  uint   ring_start         30"), HasSubstr("memory barrier\n"),
                                 HasSubstr("grid 1 x 8 x 2 threadgroups of 32 x 1 x 1 threads")));
}

TEST_F(Cli, DispatchRefusesWhatTheLaunchCodeWouldRefuse) {
  const Outcome outcome = run_assay("dispatch tq4_v1/d256/h8x3/kv65c65/ring0/nomask/nwg2/gauss/s7");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.output, HasSubstr("n_heads = 8 is not a multiple of n_kv_heads = 3"));
}

TEST_F(Cli, ATraceThatAgreesPassesAndSoDoesItsLaunch) {
  const Outcome outcome = run_assay("check-dispatch --execute " + (kGolden / "recorded_by_host.json").string());
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("the trace agrees with the contract"), HasSubstr("executed on the simulator: passed")));
}

// Its names, order of arguments and struct are its own, and so is the contract.
TEST_F(Cli, AKernelOfOnesOwnHasItsOwnContract) {
  const std::string options =
      " --kernel '" + (kRoot / "tests/kernels/independent_tq4.metal").string() + "' --family tq4 --set tile=32 --set temperature=1";
  const Outcome printed = run_assay("dispatch " + kCase + " --json" + options);
  ASSERT_EQ(printed.status, 0) << printed.output;
  EXPECT_THAT(printed.output,
              AllOf(HasSubstr("decode_tq_256"), HasSubstr(R"({"name": "ring_start", "offset": 8, "type": "uint", "value": 30})")));
  const std::string off =
      replaced(replaced(printed.output, R"("uint", "value": 30})", R"("uint", "value": 29})"), "000000001e000000", "000000001d000000");
  const Outcome outcome = run_assay("check-dispatch " + write(off, "trace.json") + options);
  EXPECT_EQ(outcome.status, 1) << outcome.output;
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("note: independent_tq4.metal: function 'decode_tq_256' was chosen"),
                    HasSubstr("field ring_start of the struct at index 6: the trace says 29, the contract 30 (bytes 8..11)")));
}

TEST_F(Cli, ATraceThatDiffersFailsAndShowsWhatComesOfIt) {
  const std::string file = write(off_by_one(), "trace.json");
  const Outcome outcome = run_assay("check-dispatch " + file);
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("field ring_start of the struct at index 0: the trace says 29, the contract 30 (bytes 40..43)"),
                    HasSubstr("1 difference from the contract")));
  const Outcome executed = run_assay("check-dispatch - --execute < " + file);
  EXPECT_EQ(executed.status, 1);
  EXPECT_THAT(executed.output, AllOf(HasSubstr("the trace's launch, executed on the simulator: failed"), HasSubstr("above bound"),
                                     HasSubstr("the contract's own launch: passed")));
}

TEST_F(Cli, AGridBeyondAllReasonIsNotExecuted) {
  const std::string trace =
      replaced(read_file(kGolden / "tq4.json"), "\"threadgroups\": [1, 8, 2]", "\"threadgroups\": [4294967295, 8, 2]");
  const Outcome outcome = run_assay("check-dispatch --execute " + write(trace, "trace.json"));
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("the trace dispatches 4294967295 x 8 x 2 threadgroups"), HasSubstr("exceed 32 bits")));
}

TEST_F(Cli, AFileThatIsNoTraceEndsWithStatusTwo) {
  for (const std::string& argument : {write("{\"format\": ", "trace.json"), (folder_ / "absent.json").string(), folder_.string(),
                                      write(replaced(off_by_one(), "\"case\": \"" + kCase + "\", ", ""), "nameless.json"),
                                      write(replaced(off_by_one(), "flash_attn_vec_tq_dk256", "flash_attn"), "unknown.json"),
                                      "'" + kGolden.string() + "/tq4.json' --case nonsense"}) {
    const Outcome outcome = run_assay("check-dispatch " + argument);
    EXPECT_EQ(outcome.status, 2) << argument << ": " << outcome.output;
    EXPECT_THAT(outcome.output, testing::StartsWith("assay: ")) << argument;
  }
}

}  // namespace
}  // namespace assay::tests
