// Threadgroup barriers and the order of SIMD-groups.
//
// Sources: Metal Shading Language Specification, synchronization functions (every thread of the threadgroup must reach the
// barrier); expectations counted by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/conformance/execute.h"

namespace assay::tests::barrier_test {
namespace {

using namespace ::testing;

// Line 4 of the result is the first line of `body`.
std::string with_shared_memory(std::string_view body) {
  return "#include <metal_stdlib>\nusing namespace metal;\nkernel void test(device int* out, uint t [[thread_index_in_threadgroup]], uint "
         "sg [[simdgroup_index_in_threadgroup]], uint lane "
         "[[thread_index_in_simdgroup]], threadgroup int* sh) {\n" +
         std::string(body) + "\n}\n";
}

Execution four_simdgroups(std::string_view body, std::string_view schedule = "forward") {
  return {.source = with_shared_memory(body),
          .output_words = 128,
          .threads = {128, 1, 1},
          .threadgroup_bytes = 1024,
          .options = {.schedule = metal::Schedule::parse(schedule)}};
}

constexpr std::string_view kSchedules[] = {"forward", "reverse", "random:1", "random:2", "random:99"};

TEST(Barrier, OrdersStoresBeforeLoadsOfOtherSimdGroups) {
  for (const auto schedule : kSchedules) {
    const auto outcome = execute(four_simdgroups(
        "for (int i = 0; i < 5; ++i) { sh[t] = int(t) + i; threadgroup_barrier(mem_flags::mem_threadgroup); out[t] = sh[127 - t]; "
        "threadgroup_barrier(mem_flags::mem_threadgroup); }",
        schedule));
    ASSERT_TRUE(outcome.hazards.empty());
    for (std::uint32_t t = 0; t < 128; ++t) EXPECT_EQ(outcome.output[t], 127 - t + 4) << schedule;
  }
}

TEST(Barrier, WithoutOneTheResultDependsOnTheSchedule) {
  const std::string body = "sh[t] = 0; threadgroup_barrier(mem_flags::mem_threadgroup); if (sg == 0) sh[t] = 1; out[t] = sh[lane];";
  EXPECT_NE(execute(four_simdgroups(body, "forward")).output, execute(four_simdgroups(body, "reverse")).output);
}

TEST(Barrier, SchedulesAreRepeatable) {
  const std::string body =
      "sh[0] = 0; threadgroup_barrier(mem_flags::mem_threadgroup); for (int i = 0; i < 9; ++i) { sh[0] = sh[0] * 3 + int(sg); } out[t] = "
      "sh[0];";
  EXPECT_EQ(execute(four_simdgroups(body, "random:5")).output, execute(four_simdgroups(body, "random:5")).output);
  EXPECT_NE(execute(four_simdgroups(body, "random:5")).output, execute(four_simdgroups(body, "random:6")).output);
}

struct DivergenceRow {
  std::string name;
  std::string body;
  std::uint32_t first_line;   // of the barrier
  std::uint32_t second_line;  // of the other party, 0 if it had returned
};

TEST(Barrier, DivergenceIsFoundAndBothPlacesAreNamed) {
  const std::vector<DivergenceRow> rows = {
      {"lanes in a branch", "if (lane < 16)\nthreadgroup_barrier(mem_flags::mem_threadgroup);\nout[t] = simd_sum(1);", 5, 6},
      {"lanes returned early", "if (lane >= 30) return;\nthreadgroup_barrier(mem_flags::mem_threadgroup);\nout[t] = 1;", 5, 0},
      {"a SIMD-group returned early", "if (sg == 3) return;\nthreadgroup_barrier(mem_flags::mem_threadgroup);\nout[t] = 1;", 5, 0},
      {"two barriers",
       "if (sg % 2 == 0)\nthreadgroup_barrier(mem_flags::mem_threadgroup);\nelse\nthreadgroup_barrier(mem_flags::mem_threadgroup);\nout[t] "
       "= 1;",
       5, 7},
      {"trip count by SIMD-group", "for (uint i = 0; i <= sg; ++i)\nthreadgroup_barrier(mem_flags::mem_threadgroup);\nout[t] = 1;", 5, 0},
      {"trip count by lane",
       "for (uint i = 0; i <= lane % 2; ++i)\nthreadgroup_barrier(mem_flags::mem_none);\nthreadgroup_barrier(mem_flags::mem_none);\nout[t] "
       "= 1;",
       5, 6},
      {"simdgroup_barrier in a branch", "if (lane < 16)\nsimdgroup_barrier(mem_flags::mem_threadgroup);\nout[t] = simd_sum(1);", 5, 6},
  };
  for (const auto& row : rows) {
    for (const auto schedule : kSchedules) {
      const auto outcome = execute(four_simdgroups(row.body, schedule));
      ASSERT_EQ(outcome.hazards.size(), 1u) << row.name << ", " << schedule;
      const auto& hazard = outcome.hazards[0];
      EXPECT_EQ(hazard.kind, metal::HazardKind::barrier_divergence) << row.name;
      EXPECT_EQ(hazard.function, "test");
      const auto second = hazard.second ? hazard.second->line : 0;
      const bool swapped = row.name == "two barriers" && hazard.first.line == row.second_line;
      EXPECT_EQ(hazard.first.line, swapped ? row.second_line : row.first_line) << row.name << ": " << hazard.message;
      EXPECT_EQ(second, swapped ? row.first_line : row.second_line) << row.name << ": " << hazard.message;
      EXPECT_EQ(hazard.first.file, "test.metal");
      EXPECT_THAT(hazard.message, HasSubstr("barrier divergence"));
    }
  }
}

TEST(Barrier, QuietWhereAllThreadsArrive) {
  for (const std::string body : {
           "if (lane < 16) out[t] = 1;\nthreadgroup_barrier(mem_flags::mem_threadgroup);",
           "for (int i = 0; i < 3; ++i) threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);",
           "if (out == nullptr) return; threadgroup_barrier(mem_flags::mem_threadgroup);",
           "if (lane >= 30) return;\nsimdgroup_barrier(mem_flags::mem_threadgroup);\nout[t] = simd_sum(1);",
       }) {
    EXPECT_TRUE(execute(four_simdgroups(body)).hazards.empty()) << body;
  }
}

TEST(Barrier, AHazardStopsItsThreadgroupOnlyAndEqualOnesAreCounted) {
  const auto outcome = execute({.source = R"(#include <metal_stdlib>
using namespace metal;
kernel void test(device int* out, uint t [[thread_index_in_threadgroup]], uint g [[threadgroup_position_in_grid]]) {
  if (g % 2 == 1 && t < 7) threadgroup_barrier(mem_flags::mem_none);
  out[32 * g + t] = simd_sum(1);
})",
                                .output_words = 256,
                                .threadgroups = {8, 1, 1}});
  ASSERT_EQ(outcome.hazards.size(), 1u);
  EXPECT_EQ(outcome.hazards[0].count, 4u);
  for (std::uint32_t word = 0; word < 256; ++word) EXPECT_EQ(outcome.output[word], word / 32 % 2 == 1 ? metal::kPoisonWord : 32u);
}

TEST(Threads, ResultsDoNotDependOnHowManyThereAre) {
  Execution execution{.source = R"(#include <metal_stdlib>
using namespace metal;
kernel void test(device float* out, device atomic_uint* ticket, uint t [[thread_index_in_threadgroup]], uint g [[threadgroup_position_in_grid]]) {
  threadgroup float x[64];
  x[t] = 1.0f / float(t + g + 1);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  uint mine = atomic_fetch_add_explicit(ticket, 1u, memory_order_relaxed);
  out[64 * g + t] = simd_sum(x[63 - t]) + float(mine);
})",
                      .output_words = 64 * 32,
                      .inputs = {{0}},
                      .threadgroups = {32, 1, 1},
                      .threads = {64, 1, 1}};
  const auto one = execute(execution);
  execution.options.threads = 2;
  const auto two = execute(execution);
  execution.options.threads = 7;
  EXPECT_EQ(one.output, two.output);
  EXPECT_EQ(one.output, execute(execution).output);
  EXPECT_EQ(one.counters.meeting_points, two.counters.meeting_points);
}

}  // namespace
}  // namespace assay::tests::barrier_test
