// The policy `checked` beside its findings: dispatches that overlap, results, merging, and what kernels cost.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <ostream>
#include <vector>

#include "metal/compile/library.h"
#include "tests/conformance/checked_kernel.h"
#include "tests/conformance/execute.h"

namespace assay::tests::checked_results_test {
namespace {

using metal::HazardKind;

// Two dispatches of a concurrent encoder, under the policy.
struct DispatchRow {
  std::string name;
  std::string first, second;  // kernels
  bool is_hazard = false;
  bool barrier = false;
};

void PrintTo(const DispatchRow& row, std::ostream* stream) { *stream << row.name; }

class CheckedDispatches : public ::testing::TestWithParam<DispatchRow> {};

TEST_P(CheckedDispatches, FindsWhatMayOverlap) {
  const DispatchRow& row = GetParam();
  const auto library = metal::Library::from_source(
      "#include <metal_stdlib>\nusing namespace metal;\n"
      "kernel void writes(device uint* a, device uint* b, uint t [[thread_position_in_grid]]) { a[t] = t; }\n"
      "kernel void reads(device uint* a, device uint* b, uint t [[thread_position_in_grid]]) { b[t] = a[31 - t]; }\n"
      "kernel void changes(device atomic_uint* a, device uint* b, uint t [[thread_position_in_grid]]) {\n"
      "atomic_fetch_add_explicit(a, 1u, memory_order_relaxed);\n}\n"
      "kernel void writes_behind(device uint* a, device uint* b, uint t [[thread_position_in_grid]]) { a[32 + t] = t; }\n",
      "test.metal");
  metal::Simulator simulator({library}, {.policy = metal::Policy::checked, .concurrent = true});
  metal::Buffer a(256, "a");
  metal::Buffer b(256, "b");
  std::ranges::fill(a.as<std::uint32_t>(), 0U);
  simulator.set_buffer(0, {&a, 0});
  simulator.set_buffer(1, {&b, 0});
  simulator.set_pipeline({row.first, {}});
  simulator.dispatch_threadgroups({}, {32, 1, 1});
  if (row.barrier) simulator.memory_barrier();
  simulator.set_pipeline({row.second, {}});
  simulator.dispatch_threadgroups({}, {32, 1, 1});
  for (const auto& hazard : simulator.hazards())
    EXPECT_EQ(to_string(hazard.kind), to_string(HazardKind::dispatch_hazard)) << hazard.message;
  EXPECT_EQ(simulator.hazards().size(), row.is_hazard ? 1U : 0U);
}

INSTANTIATE_TEST_SUITE_P(Dispatches, CheckedDispatches,
                         ::testing::Values(DispatchRow{"write_and_read", "writes", "reads", true},
                                           DispatchRow{"write_and_read_behind_a_barrier", "writes", "reads", false, true},
                                           DispatchRow{"read_and_write", "reads", "writes", true},
                                           DispatchRow{"read_and_write_behind_a_barrier", "reads", "writes", false, true},
                                           DispatchRow{"atomic_and_read", "changes", "reads", true},
                                           DispatchRow{"atomic_and_read_behind_a_barrier", "changes", "reads", false, true},
                                           DispatchRow{"write_elsewhere", "reads", "writes_behind"}),
                         [](const auto& info) { return info.param.name; });

TEST(CheckedResults, AreThoseOfTheNativePolicy) {
  const std::string source = checked_kernel(
      "sh[t] = in[t] * 3 + t;\n" + kBarrier +
      "float x = float(sh[63 - t]) / 7.0f;\nfor (uint i = 0; i < t % 5; ++i) x = simd_sum(x) * 0.01f + float(half(x)) * 0.5f + "
      "float(bfloat(x) * 0.25bf);\n"
      "out[tg * 64 + t] = as_type<uint>(x);\nout[128 + tg * 64 + t] = atomic_fetch_add_explicit(counters, t, memory_order_relaxed);");
  Execution execution{.source = source,
                      .output_words = 256,
                      .inputs = {std::vector<std::uint32_t>(64, 7), std::vector<std::uint32_t>(64, 0), std::vector<std::uint32_t>(64, 0)},
                      .threadgroups = {2, 1, 1},
                      .threads = {64, 1, 1},
                      .threadgroup_bytes = 1024};
  const Outcome native = execute(execution);
  execution.options.policy = metal::Policy::checked;
  const Outcome checked = execute(execution);
  EXPECT_EQ(checked.output, native.output);
  EXPECT_EQ(checked.counters.meeting_points, native.counters.meeting_points);
  EXPECT_EQ(checked.counters.collectives, native.counters.collectives);
  for (const auto& hazard : checked.hazards) ADD_FAILURE() << hazard.message;
}

// The faulty read yields poison and the kernel goes on, so that one run shows all hazards; they are merged and counted.
TEST(CheckedResults, FaultyAccessesAreReplacedAndCounted) {
  const auto outcome = execute({.source = checked_kernel(kOut + "in[t + 60];\nout[300] = 1;\n" + "out[128 + tg * 64 + t] = t;"),
                                .output_words = 256,
                                .inputs = {std::vector<std::uint32_t>(64, 7), std::vector<std::uint32_t>(64, 0), {0}},
                                .threadgroups = {2, 1, 1},
                                .threads = {64, 1, 1},
                                .threadgroup_bytes = 1024,
                                .options = {.policy = metal::Policy::checked}});
  ASSERT_EQ(outcome.hazards.size(), 2U);
  EXPECT_EQ(outcome.hazards[0].first.line, 4U);
  EXPECT_EQ(outcome.hazards[0].count, 2U * 60);
  EXPECT_EQ(outcome.hazards[1].first.line, 5U);
  EXPECT_EQ(outcome.hazards[1].count, 2U * 64);
  EXPECT_EQ(outcome.output[3], 7U);
  EXPECT_EQ(outcome.output[4], metal::kReadPoisonWord);
  EXPECT_EQ(outcome.output[255], 63U);
}

// ---- what it costs: 2 threadgroups of 2 simdgroups, 128 threads, counted by hand

const std::string kCostly =
    "float x = float(in[t]);\n"
    "sh[t] = in[t % 2];\n" +
    kBarrier +
    "x = fma(x, 2.0f, 1.0f) + simd_sum(x);\n"
    "const half h = half(x) * 2.0h;\n"
    "const bfloat4 b = bfloat4(bfloat(x)) + bfloat4(1.0bf);\n" +
    kOut + "sh[63 - t] + uint(h) + uint(b.w);\n";

metal::KernelCost cost_under(const std::string& schedule, std::uint32_t threads = 64) {
  const auto library = metal::Library::from_source(checked_kernel(kCostly), "test.metal");
  metal::Simulator simulator({library}, {.schedule = metal::Schedule::parse(schedule), .policy = metal::Policy::checked});
  simulator.set_pipeline({"test", {}});
  metal::Buffer out(1024);
  const auto in = metal::Buffer::of<std::uint32_t>(std::vector<std::uint32_t>(64, 7));
  for (const std::uint32_t index : {0U, 2U, 3U}) simulator.set_buffer(index, {&out, 0});
  simulator.set_buffer(1, {in.get(), 0});
  simulator.set_threadgroup_memory_length(0, 1024);
  simulator.dispatch_threadgroups({2, 1, 1}, {threads, 1, 1});
  EXPECT_EQ(simulator.cost().size(), 1U);
  return simulator.cost().empty() ? metal::KernelCost{} : simulator.cost().front();
}

TEST(Cost, IsCountedByLine) {
  const metal::KernelCost cost = cost_under("forward");
  EXPECT_EQ(cost.function, "test");
  EXPECT_EQ(cost.dispatches, 1U);
  using metal::Cost;
  const std::map<std::uint32_t, Cost> expected = {
      {4, {.device_bytes_read = 512, .distinct_device_bytes = 256}},
      {5, {.device_bytes_read = 512, .distinct_device_bytes = 8, .threadgroup_accesses = 128}},
      {6, {.barriers = 4}},
      {7, {.simdgroup_calls = 4, .float_operations = 3 * 128}},
      {8, {.half_operations = 128}},
      {9, {.bfloat_operations = 4 * 128}},
      {10, {.device_bytes_written = 512, .distinct_device_bytes = 512, .threadgroup_accesses = 128}}};
  EXPECT_EQ(cost.lines.size(), expected.size());
  for (const auto& [place, found] : cost.lines) {
    const auto line = expected.find(place.line);
    ASSERT_NE(line, expected.end()) << place.line;
    EXPECT_TRUE(found == line->second) << place.line;
  }
  EXPECT_TRUE((cost.total == Cost{.device_bytes_read = 1024,
                                  .device_bytes_written = 512,
                                  .distinct_device_bytes = 256 + 512,
                                  .threadgroup_accesses = 256,
                                  .simdgroup_calls = 4,
                                  .barriers = 4,
                                  .float_operations = 384,
                                  .half_operations = 128,
                                  .bfloat_operations = 512}));
}

TEST(Cost, IsTheSameUnderEverySchedule) {
  const metal::KernelCost cost = cost_under("forward");
  for (const char* schedule : {"forward", "reverse", "random:5"}) EXPECT_TRUE(cost_under(schedule) == cost) << schedule;
}

TEST(Cost, SaysWhyThreadgroupsRunLaneByLane) {
  EXPECT_EQ(cost_under("forward").lane_by_lane, "");
  EXPECT_EQ(cost_under("forward", 40).lane_by_lane, "the threads of a threadgroup are no multiple of 32");
}

}  // namespace
}  // namespace assay::tests::checked_results_test
