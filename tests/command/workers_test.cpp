// The command on kernels that take their process with them, and on limits that are none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/command.h"

namespace assay::tests::workers_test {
namespace {

using namespace ::testing;

class CliWorkers : public Cli {
 protected:
  // Ends its process with four workgroups. A kernel's strays are contained; what the host's library does for it is not.
  std::string destroyer() const {
    const std::string from = "State state = {-FLT_MAX / 2, 0};";
    std::string text = independent_kernel();
    text.replace(text.find(from), from.size(), "if (params.nwg == 4) __builtin_debugtrap(); " + from);
    return write(text) + " --family tq4 --set tile=32 --set temperature=1";
  }
};

const std::string kCrashing = "kernel/d256/h2x2/kv33c33/ring0/nomask/nwg4/gauss/s1";
const std::string kOrderly = "kernel/d256/h2x2/kv33c33/ring0/nomask/nwg1/gauss/s1";

TEST_F(CliWorkers, ACrashIsAFailureWithAReplayLineAndTheRestIsJudged) {
  const Outcome outcome = run_assay("run " + kOrderly + " " + kCrashing + " --kernel " + destroyer());
  EXPECT_EQ(outcome.status, 1) << outcome.output;
  for (const std::string& text : {"crashed " + kCrashing + "\n  worker killed by signal ", "replay: assay run " + kCrashing,
                                  std::string("2 cases: 1 passed, 1 failed (of these 1 crashed); 512 elements compared")}) {
    EXPECT_THAT(outcome.output, HasSubstr(text));
  }
}

TEST_F(CliWorkers, ShowReportsACrashToo) {
  const Outcome outcome = run_assay("show " + kCrashing + " --kernel " + destroyer());
  EXPECT_EQ(outcome.status, 1) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("crashed " + kCrashing + "\n  worker killed by signal "));
  EXPECT_THAT(outcome.output, Not(HasSubstr("0 compared"))) << "figures of a comparison that never was";
}

TEST_F(CliWorkers, LimitsThatAreNoneAreRefused) {
  for (const char* limit : {"-1", "nan", "inf", "1e9", "soon"}) {
    const Outcome outcome = run_assay("run reduce_v1/d256/rows2/nwg4/gauss/s1 --timeout " + std::string(limit));
    EXPECT_NE(outcome.status, 0) << limit << ": " << outcome.output;
    EXPECT_EQ(outcome.status, 2) << limit << ": " << outcome.output;
  }
  const Outcome outcome = run_assay("run reduce_v1/d256/rows2/nwg4/gauss/s1 --timeout 12.5");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
}

}  // namespace
}  // namespace assay::tests::workers_test
