// The runner for Macs against a mocked Metal: every call, every error path.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/runner/bundle.h"

namespace assay::tests::metal_runner_test {
namespace {

namespace fs = std::filesystem;
using namespace ::testing;

// Two dispatches with a barrier between them, function constants, threadgroup memory and threads counted among the cases.
const std::string kCases =
    "tq4_v1/d256/h8x2/kv65c65/ring30/win33/nwg2/gauss/s7 "
    "attn_split_v1/half/d32x32/b2/h1x1/q1/k33/nomask/mask_half/cap30/room1/gaps_kv/blocks32/tiny/s48 "
    "attn_tiles_v1/bfloat/d64x64/b3/h1x1/q33/k31/causal/offset_other/blhd/gaps_inputs/tiny/s609";
const std::string kCase = "reduce_v1/d256/rows1/nwg1/faint/s740";

using MetalRunner = Bundle;

TEST_F(MetalRunner, MakesEveryCallAndReleasesEveryObject) {
  ASSERT_EQ(exported(kCases).status, 0);
  const Outcome outcome = executed();
  ASSERT_EQ(outcome.status, 0) << outcome.output;
  const std::string calls = read_file(folder_ / "calls");
  for (const char* call : {"MTLCreateSystemDefaultDevice",
                           "name",
                           "operatingSystemVersionString",
                           "newCommandQueue",
                           "setLanguageVersion:",
                           "setFastMathEnabled:NO",
                           "newLibraryWithSource:options:error:",
                           "setConstantValue:type:atIndex:",
                           "newFunctionWithName:constantValues:error:",
                           "newComputePipelineStateWithFunction:error:",
                           "maxBufferLength",
                           "newBufferWithLength:options:",
                           "contents",
                           "commandBuffer",
                           "computeCommandEncoder",
                           "setComputePipelineState:",
                           "setBuffer:offset:atIndex:",
                           "setBytes:length:atIndex:",
                           "setThreadgroupMemoryLength:atIndex:",
                           "memoryBarrierWithScope:",
                           "threadExecutionWidth",
                           "maxTotalThreadsPerThreadgroup",
                           "dispatchThreadgroups:threadsPerThreadgroup:",
                           "endEncoding",
                           "commit",
                           "waitUntilCompleted",
                           "status"})
    EXPECT_THAT(calls, HasSubstr(std::string(call) + "\n")) << call;
  EXPECT_THAT(calls, HasSubstr("alive 0\n"));
}

// What Metal refuses is a verdict of the case, and the others go on.
TEST_F(MetalRunner, WhatTheDeviceRefusesIsRejected) {
  ASSERT_EQ(exported(kCase).status, 0);
  const struct {
    const char* failure;
    const char* text;
  } rows[] = {
      {"no function", "function: no function of that name"},
      {"few threads", "function: the device allows this kernel 8 threads per threadgroup, not 32"},
      {"wide simdgroups", "function: the device has 64 threads in a simdgroup, not 32"},
      {"small buffers", "bytes is more than the device has"},
      {"no memory", "buffers: the device has no memory for a buffer of"},
      {"no encoder", "buffers: the device makes no encoder"},
  };
  for (const auto& [failure, text] : rows) {
    SCOPED_TRACE(failure);
    const Outcome there = executed(failure);
    EXPECT_EQ(there.status, 0) << there.output;
    EXPECT_THAT(read_file(folder_ / "calls"), HasSubstr("alive 0\n"));
    fs::remove(folder_ / "calls");
    const Outcome outcome = judged();
    EXPECT_EQ(outcome.status, 1) << outcome.output;
    EXPECT_THAT(outcome.output, AllOf(HasSubstr("1 rejected"), HasSubstr("refused where it was executed, on Mock"), HasSubstr(text)));
  }
}

TEST_F(MetalRunner, AKernelThatFailsThereCrashed) {
  ASSERT_EQ(exported(kCase).status, 0);
  ASSERT_EQ(executed("failing commands").status, 0);
  const Outcome outcome = judged();
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("1 crashed"), HasSubstr("failed on the GPU: Caused GPU Timeout Error"), HasSubstr("on Mock")));
}

TEST_F(MetalRunner, ASourceThatMetalRefusesIsRejected) {
  ASSERT_EQ(exported(kCase).status, 0);
  const fs::path source = fs::directory_iterator(file("sources"))->path();
  const std::string whole = read_file(source);
  write(whole + "\n#error \"not on this Mac\"\n", "bundle/sources/" + source.filename().string());
  ASSERT_EQ(executed().status, 0);
  write(whole, "bundle/sources/" + source.filename().string());
  const Outcome outcome = judged();
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("1 rejected"), HasSubstr("source: "), HasSubstr("not on this Mac")));
}

// The machine or the bundle cannot be used: no results are left.
TEST_F(MetalRunner, EndsWithoutResultsWhereNothingCanBeExecuted) {
  ASSERT_EQ(exported(kCase).status, 0);
  const std::string manifest = read_file(file("manifest.json"));
  const auto expect_end = [&](const std::string& failure, const std::string& text) {
    SCOPED_TRACE(text);
    write("of an earlier run", "bundle/results.json");
    const Outcome outcome = executed(failure);
    EXPECT_EQ(outcome.status, 2);
    EXPECT_THAT(outcome.output, HasSubstr(text));
  };
  expect_end("no device", "this machine has no Metal device");
  expect_end("no queue", "the device makes no command queue");
  const struct {
    std::string from, to, text;
  } rows[] = {
      {"\"version\": 1,", "\"version\": 2,", "manifest.json: is not of version 1"},
      {"\"sources/", "\"../sources/", "manifest.json: names '../sources/"},
      {"\"inputs/", "\"/inputs/", "manifest.json: names '/inputs/"},
      {"\"sources/", "\"sources/x", ": cannot be read"},
      {"\"call\": \"set_pipeline\"", "\"call\": \"set_cpu\"", "'set_cpu' is no call that this runner knows"},
      {"\"pipeline\": 0", "\"pipeline\": 7", "has a number of a buffer, pipeline or size that it does not have"},
      {"\"buffer\": 0", "\"buffer\": \"none\"", "'none' is no whole number"},
      {"\"fill\": \"", "\"fill\": \"xy", "are no hexadecimal bytes"},
      {"\"fill\": \"", "\"fill\": \"00", "'fill' must have 4 bytes"},
      {"\"at\": ", "\"at\": 9999", "a region reaches behind its buffer"},
      {"\"passes\"", "\"turns\"", "'passes' is missing"},
  };
  for (const auto& [from, to, text] : rows) {
    write(replaced(manifest, from, to), "bundle/manifest.json");
    expect_end("", text);
    EXPECT_THAT(judged().status, 2);
  }
  write(manifest.substr(0, manifest.size() / 2), "bundle/manifest.json");
  expect_end("", "manifest.json: ");
  write(manifest, "bundle/manifest.json");
  const fs::path data = fs::directory_iterator(file("inputs"))->path();
  fs::resize_file(data, fs::file_size(data) - 1);
  expect_end("", data.filename().string() + ": has ");
  fs::remove(data);
  expect_end("", data.filename().string() + ": cannot be read");
  fs::remove(file("manifest.json"));
  expect_end("", "manifest.json: cannot be read");
}

TEST_F(MetalRunner, SaysHowItIsUsed) {
  const Outcome outcome = run_command(std::string("'") + ASSAY_BINARY_DIR + "/bin/assay_mock_runner'");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.output, HasSubstr("usage: assay_runner BUNDLE"));
}

TEST_F(MetalRunner, ItsFirstLineSaysThatNobodyRanItOnAMac) {
  const std::string source = read_file(kRoot / "runners/metal/assay_runner.mm");
  EXPECT_THAT(source.substr(0, source.find('\n')), HasSubstr("Nobody has run it on a Mac yet"));
}

}  // namespace
}  // namespace assay::tests::metal_runner_test
