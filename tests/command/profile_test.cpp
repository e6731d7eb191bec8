// --profile: what a device may do that the simulator does not, in every command that judges.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/command.h"

namespace assay::tests::profile_test {
namespace {

using namespace ::testing;

// Our kernel with an rsqrt that is wrong by 2 ulp, which the simulator's is not and Metal's may be.
class CliProfile : public Cli {
 protected:
  void SetUp() override {
    file_ = write(replaced_once(source_of("dequantize_v1"), "rsqrt(256.0f)", "(rsqrt(256.0f) * (1.0f + 0x1p-22f))"));
  }
  Outcome with_profile(const std::string& command, const std::string& profile, const std::string& more = "") const {
    return run_assay(command + " 'kernel/*/gauss/*' --kernel " + file_ + " --family dequantize --limit head_dim=256 " + profile + " " +
                     more);
  }
  std::string file_;
};

TEST_F(CliProfile, AnErrorThatMetalAllowsFailsForTheSimulatorOnly) {
  const std::string ledger = "--ledger " + (folder_ / "ledger").string();
  const Outcome simulator = with_profile("run", "", ledger);
  EXPECT_EQ(simulator.status, 1) << simulator.output;
  const Outcome metal = with_profile("run", "--profile metal", ledger);
  EXPECT_EQ(metal.status, 0) << metal.output;
  EXPECT_THAT(metal.output, HasSubstr("note: bounds of profile metal"));
  EXPECT_EQ(with_profile("run", "--profile metal_fast", ledger).status, 0);

  // What the runs say of each other.
  const Outcome diff = run_assay("diff 1 2 " + ledger);
  EXPECT_THAT(diff.output, HasSubstr("--profile metal"));
  const Outcome report = run_assay("report --run 2 --format markdown " + ledger);
  EXPECT_THAT(report.output, HasSubstr("bounds of profile metal"));
}

TEST_F(CliProfile, TheReplayOfAFailureHasTheProfile) {
  file_ = write(replaced_once(source_of("dequantize_v1"), "rsqrt(256.0f)", "(rsqrt(256.0f) * 1.001f)"));
  const Outcome outcome = with_profile("run", "--profile metal", "--ledger none");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.output, ContainsRegex("first failure again: assay run [^\n]*--profile metal"));
}

TEST_F(CliProfile, EveryCommandThatJudgesHasIt) {
  for (const std::string command : {"run", "gate", "show", "compare", "explain", "triage", "mutate", "check-dispatch"}) {
    EXPECT_THAT(run_assay(command + " --help").output, HasSubstr("--profile NAME")) << command;
    const Outcome wrong = run_assay(command + " --profile cuda");
    EXPECT_EQ(wrong.status, 2) << command;
    EXPECT_THAT(wrong.output, HasSubstr("metal_fast")) << command;
  }
}

TEST_F(CliProfile, ShowAndExplainAndCompareJudgeByIt) {
  const std::string own = " --kernel " + file_ + " --family dequantize ";
  const std::string list = run_assay("list 'kernel/*/gauss/*' --limit head_dim=256" + own).output;
  const std::string name = list.substr(0, list.find('\n'));
  for (const std::string command : {"show ", "explain "}) {
    EXPECT_EQ(run_assay(command + name + own).status, 1) << command;
    const Outcome metal = run_assay(command + name + own + "--profile metal");
    EXPECT_EQ(metal.status, 0) << command << metal.output;
  }
  const std::string compare =
      "compare dequantize_v1 " + file_ + " 'dequantize_v1/d256/*/gauss/*' --family dequantize --suite smoke --no-parting ";
  EXPECT_EQ(run_assay(compare).status, 1);
  EXPECT_EQ(run_assay(compare + "--profile metal").status, 0);
}

}  // namespace
}  // namespace assay::tests::profile_test
