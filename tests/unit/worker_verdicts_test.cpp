// A stranger's kernel that never ends or takes its process with it costs one verdict, and the cases beside it are judged as
// if it were not there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "harness/execute/execute.h"
#include "harness/findings/fault_text.h"
#include "harness/process/verdict_wire.h"
#include "tests/unit/worker_kernels.h"

namespace assay::tests::worker_verdicts_test {
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
    options.timeout = std::chrono::seconds(2);
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
      EXPECT_EQ(verdict.status, Status::passed) << reason_of(verdict);
      EXPECT_EQ(verdict.digest, expected.digest);
      EXPECT_EQ(verdict.judgement.compared, expected.judgement.compared);
      EXPECT_EQ(verdict.judgement.max_ratio, expected.judgement.max_ratio);
    }
  }
};

TEST_F(WorkerVerdicts, AKernelInOrderPasses) {
  for (const auto& [name, verdict] : run("", 2)) EXPECT_EQ(verdict.status, Status::passed) << name << ": " << reason_of(verdict);
}

TEST_F(WorkerVerdicts, AKernelThatNeverEndsTimesOut) {
  const auto undisturbed = run("", 1);
  for (const unsigned jobs : {1U, 2U}) {
    const auto verdicts = run("while (params.nwg == 4) threadgroup_barrier(mem_flags::mem_none);", jobs);
    const harness::Verdict& verdict = verdicts.at("kernel/" + kVictim);
    EXPECT_EQ(verdict.status, Status::timeout);
    EXPECT_THAT(reason_of(verdict), HasSubstr("2 s"));
    expect_neighbours_undisturbed(verdicts, undisturbed);
  }
}

// C++ lets a compiler take it for granted that a loop without effects ends, and strike out the branch that it is in.
TEST_F(WorkerVerdicts, ALoopWithoutEffectsThatNeverEndsTimesOut) {
  for (const char* statement :
       {"if (params.nwg == 4) { while (true) {} }", "uint turns = 1; while (params.nwg == 4 && turns != 0) turns += 2;"}) {
    const auto verdicts = run(statement, 2);
    EXPECT_EQ(verdicts.at("kernel/" + kVictim).status, Status::timeout) << statement;
  }
}

// Who runs a case without a worker, as triage does to trace one, gives it a limit of its own.
TEST_F(WorkerVerdicts, ARunInThisProcessThatNeverEndsIsGivenUp) {
  const std::vector<kernels::Variant> variants = catalogue({kernel("while (params.nwg == 4) threadgroup_barrier(mem_flags::mem_none);")});
  const std::vector<harness::Case> cases = {tq4(kVictim), tq4(kNeighbours[0])};
  const harness::Workbench workbench(variants, cases, settings());
  const harness::PreparedVariant& prepared = workbench.variants().at("kernel");
  const fixtures::Shelf shelf;
  const auto run = [&](const harness::Case& test_case, double seconds) {
    return harness::run_case(prepared, test_case, shelf, {}, std::chrono::duration<double>(seconds));
  };
  try {
    static_cast<void>(run(cases[0], 0.3));
    ADD_FAILURE() << "the kernel ended";
  } catch (const harness::KernelDied& death) {
    EXPECT_NE(death.fault.as<harness::fault::Timeout>(), nullptr) << harness::text_of(death.fault.details);
  }
  EXPECT_GT(run(cases[1], 30).counters.threadgroups, 0U) << "the next one has a process of its own";
}

// A kernel's strays are contained; what a function of the host does for it is not.
TEST_F(WorkerVerdicts, AKernelThatEndsItsProcessCrashes) {
  const auto undisturbed = run("", 1);
  for (const unsigned jobs : {1U, 2U}) {
    const auto verdicts = run("if (params.nwg == 4) __builtin_debugtrap();", jobs);
    const harness::Verdict& verdict = verdicts.at("kernel/" + kVictim);
    EXPECT_EQ(verdict.status, Status::crashed) << reason_of(verdict);
    EXPECT_THAT(reason_of(verdict), HasSubstr("worker killed by signal "));
    expect_neighbours_undisturbed(verdicts, undisturbed);
  }
}

// Where a case is executed, and what beside it, changes nothing about its verdict.
TEST_F(WorkerVerdicts, AreThoseOfExecutionInThisProcess) {
  const std::vector<kernels::Variant> variants = catalogue({kernel("")});
  std::vector<harness::Case> cases;
  for (const std::string& words : kNeighbours) cases.push_back(tq4(words));
  cases.push_back(tq4("d384/h2x2/kv33c33/ring0/nomask/nwg4/gauss/s1"));  // refused by the launch code
  for (const char* name : {"reduce_v1/d256/rows2/nwg4/gauss/s1", "reduce_v1/d512/rows8/nwg32/gauss/s2", "fwht_v1/d512/h8/premult/gauss/s7"})
    cases.push_back(harness::parse_case(name, families::find_family(std::string(name).substr(0, std::string(name).find('_')))));
  const harness::Workbench workbench(variants, cases, settings());
  const auto without_times = [](harness::Verdict verdict) {
    verdict.oracle_seconds = verdict.simulator_seconds = 0;
    return harness::encode_verdict(verdict);
  };
  std::set<std::uint64_t> digests;
  for (const unsigned jobs : {1U, 2U, 4U}) {
    for (const bool reversed : {false, true}) {
      std::vector<harness::Case> order = cases;
      if (reversed) std::ranges::reverse(order);
      Collector collector;
      const std::atomic<bool> stop = false;
      digests.insert(harness::run_cases(order, workbench, {.execution = {}, .jobs = jobs}, stop, collector).digest);
      for (const harness::Case& test_case : cases) {
        const harness::Verdict& verdict = collector.verdicts.at(harness::format_case(test_case));
        const harness::Verdict here = harness::execute_case(workbench.find(test_case.variant), test_case, {});
        EXPECT_EQ(verdict.status, here.status) << harness::format_case(test_case) << ": " << reason_of(verdict);
        EXPECT_EQ(without_times(verdict), without_times(here)) << harness::format_case(test_case);
      }
    }
  }
  EXPECT_EQ(digests.size(), 1U);
}

}  // namespace
}  // namespace assay::tests::worker_verdicts_test
