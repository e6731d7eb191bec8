// A stranger's kernel that never ends or takes its process with it costs one verdict, and the cases beside it are judged as
// if it were not there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "tests/unit/worker_kernels.h"

namespace assay {
namespace {

using harness::Status;
using ::testing::HasSubstr;

// All of the planted mistakes are made with four workgroups only.
const std::vector<std::string> kNeighbours = {"d256/h2x2/kv33c33/ring0/nomask/nwg1/gauss/s1",
                                              "d256/h2x2/kv64c64/ring3/nomask/nwg1/gauss/s2",
                                              "d256/h2x2/kv33c33/ring0/nomask/nwg2/needle/s3"};
const std::string kVictim = "d256/h2x2/kv33c33/ring0/nomask/nwg4/gauss/s1";

class WorkerVerdicts : public WorkerKernel {
 protected:
  // The victim in the middle of its neighbours, by one worker or several.
  std::map<std::string, harness::Verdict> run(const std::string& statement, unsigned jobs) const {
    const std::vector<kernels::Variant> variants = catalogue({kernel(statement)});
    const std::vector<harness::Case> cases = {tq4(kNeighbours[0]), tq4(kNeighbours[1]), tq4(kVictim), tq4(kNeighbours[2])};
    const harness::Workbench workbench(variants, cases, settings());
    Collector collector;
    harness::RunOptions options;
    options.jobs = jobs;
    options.timeout = std::chrono::seconds(5);
    const std::atomic<bool> stop = false;
    const harness::Summary summary = harness::run_cases(cases, workbench, options, stop, collector);
    EXPECT_EQ(summary.finished(), cases.size());
    EXPECT_FALSE(summary.stopped);
    return collector.verdicts;
  }

  static void expect_neighbours_undisturbed(const std::map<std::string, harness::Verdict>& verdicts,
                                            const std::map<std::string, harness::Verdict>& undisturbed) {
    for (const std::string& words : kNeighbours) {
      const harness::Verdict& verdict = verdicts.at("kernel/" + words);
      const harness::Verdict& expected = undisturbed.at("kernel/" + words);
      EXPECT_EQ(verdict.status, Status::passed) << verdict.reason;
      EXPECT_EQ(verdict.digest, expected.digest);
      EXPECT_EQ(verdict.judgement.compared, expected.judgement.compared);
      EXPECT_EQ(verdict.judgement.max_ratio, expected.judgement.max_ratio);
    }
  }
};

TEST_F(WorkerVerdicts, AKernelInOrderPasses) {
  for (const auto& [name, verdict] : run("", 2)) EXPECT_EQ(verdict.status, Status::passed) << name << ": " << verdict.reason;
}

TEST_F(WorkerVerdicts, AKernelThatNeverEndsTimesOut) {
  const auto undisturbed = run("", 1);
  for (const unsigned jobs : {1U, 2U}) {
    const auto verdicts = run("while (params.nwg == 4) threadgroup_barrier(mem_flags::mem_none);", jobs);
    const harness::Verdict& verdict = verdicts.at("kernel/" + kVictim);
    EXPECT_EQ(verdict.status, Status::timeout);
    EXPECT_THAT(verdict.reason, HasSubstr("5 s"));
    expect_neighbours_undisturbed(verdicts, undisturbed);
  }
}

// The parameters lie on the host's heap: in front of them is what free() looks at.
TEST_F(WorkerVerdicts, AKernelThatDamagesTheHeapCrashes) {
  const auto undisturbed = run("", 1);
  for (const unsigned jobs : {1U, 2U}) {
    const auto verdicts = run("if (params.nwg == 4) ((device uint*)(ulong)&params)[-2] = 0x7fe57fe5;", jobs);
    const harness::Verdict& verdict = verdicts.at("kernel/" + kVictim);
    EXPECT_EQ(verdict.status, Status::crashed) << verdict.reason;
    EXPECT_THAT(verdict.reason, HasSubstr("signal 6 (Aborted)"));
    expect_neighbours_undisturbed(verdicts, undisturbed);
  }
}

}  // namespace
}  // namespace assay
