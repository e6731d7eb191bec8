// --device: which commands have it, and what they say where there is no GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/command.h"

namespace assay::tests::device_test {
namespace {

using namespace ::testing;

const std::string kCase = "fwht_v1/d256/h2/standalone/gauss/s1";

// The driver finds none, if this machine has a driver.
Outcome without_gpu(const std::string& arguments) { return run_under("CUDA_VISIBLE_DEVICES=", arguments); }

TEST_F(Cli, WithoutAGpuEveryCommandEndsWithTheSameMessage) {
  const Outcome run = without_gpu("run " + kCase + " --device cuda");
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.output, StartsWith("assay: --device cuda: "));
  for (const std::string& command : {std::string("gate --family fwht"), std::string("run long --family tq4"), "show " + kCase,
                                     std::string("compare fwht_v1 fwht_v1 --suite smoke")}) {
    const Outcome outcome = without_gpu(command + " --device cuda");
    EXPECT_EQ(outcome.status, 2) << command;
    EXPECT_EQ(outcome.output, run.output) << command;
  }
}

TEST_F(Cli, ADeviceHasAKnownName) {
  for (const std::string& command : {"run " + kCase, std::string("compare fwht_v1 fwht_v1")}) {
    const Outcome outcome = run_assay(command + " --device metal");
    EXPECT_EQ(outcome.status, 2) << command;
    EXPECT_EQ(outcome.output, "assay: --device metal: devices are simulator, cuda and cuda:N\n") << command;
  }
}

TEST_F(Cli, WhatOnlyTheSimulatorCanDoIsRefusedOnAGpu) {
  const Outcome cost = run_assay("cost " + kCase + " --device cuda");
  EXPECT_EQ(cost.status, 2);
  EXPECT_THAT(cost.output, HasSubstr("--device: makes no sense with cuda: only the simulator counts what a kernel costs"));
  const Outcome explained = run_assay("explain " + kCase + " --device cuda:1");
  EXPECT_EQ(explained.status, 2);
  EXPECT_THAT(explained.output, HasSubstr("--device: makes no sense with cuda:1: only the simulator carries exact values"));
  EXPECT_EQ(run_assay("cost " + kCase + " --device simulator").status, 0);
}

TEST_F(Cli, OptionsOfTheSimulatorMakeNoSenseOnAGpu) {
  const Outcome outcome = run_assay("compare fwht_v1 fwht_v1 --device cuda --schedule reverse");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.output, "assay: --schedule reverse makes no sense with --device cuda: a GPU orders its simdgroups itself\n");
}

TEST_F(Cli, AComparisonSaysWhereItWasExecuted) {
  const Outcome outcome = run_assay("compare fwht_v1 fwht_v1 --suite smoke 'fwht_v1/d256/h1/*' --json " + (folder_ / "c.json").string() +
                                    " --markdown " + (folder_ / "c.md").string());
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("suite smoke, executed on the simulator, in "));
  EXPECT_THAT(read_file(folder_ / "c.json"), HasSubstr(R"("executed_on": "simulator")"));
  EXPECT_THAT(read_file(folder_ / "c.md"), HasSubstr("suite `smoke`, executed on the simulator.\n"));
}

}  // namespace
}  // namespace assay::tests::device_test
