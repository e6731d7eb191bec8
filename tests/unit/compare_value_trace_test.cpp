// The simulator's trace of the values that a kernel computes, one by one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "metal/buffer.h"
#include "metal/compile/library.h"
#include "metal/devices/simulator.h"
#include "metal/execute/value_trace.h"

namespace assay::tests::compare_value_trace_test {
namespace {

using namespace metal;

using namespace ::testing;

constexpr std::uint32_t kFirstLine = 4;  // of the body

// in[i] = i + 1/2, 64 of them; out has 64 floats.
ValueTrace trace_of(const std::string& body, Size3 threadgroups = {1, 1, 1}, std::size_t most = ValueTrace{}.most_values) {
  const auto library = Library::from_source(
      "#include <metal_stdlib>\nusing namespace metal;\nkernel void test(device float* out [[buffer(0)]], device const float* in "
      "[[buffer(1)]], "
      "uint lane [[thread_index_in_threadgroup]], uint tg [[threadgroup_position_in_grid]], threadgroup float* sh [[threadgroup(0)]]) {\n" +
          body + "\n}\n",
      "traced.metal");
  Buffer out(64 * sizeof(float), "out");
  Buffer in(64 * sizeof(float), "in");
  for (std::size_t i = 0; i < 64; ++i) in.as<float>()[i] = static_cast<float>(i) + 0.5F;
  ValueTrace trace;
  trace.followed = "in";
  trace.most_values = most;
  Simulator simulator({library}, {.trace = &trace});
  simulator.set_pipeline({"test", {}});
  simulator.set_buffer(0, {&out});
  simulator.set_buffer(1, {&in});
  simulator.set_threadgroup_memory_length(0, 1024);
  simulator.dispatch_threadgroups(threadgroups, {32, 1, 1});
  EXPECT_THAT(simulator.hazards(), IsEmpty());
  return trace;
}

// Numbers of thread `thread` that a line of the body made, in order; without those that are stored.
std::vector<double> values_of(const ValueTrace& trace, std::size_t thread, std::uint32_t line) {
  std::vector<double> values;
  for (const TracedValue& value : trace.threads[thread].values) {
    const TracedOperation& operation = trace.operations[value.operation];
    if (operation.place.line == kFirstLine + line && operation.kind != TracedOperation::Kind::store)
      values.push_back(number_of(value, operation.type));
  }
  return values;
}

std::vector<double> stored_by(const ValueTrace& trace, std::size_t thread) {
  std::vector<double> values;
  for (const TracedValue& value : trace.threads[thread].values) {
    const TracedOperation& operation = trace.operations[value.operation];
    if (operation.kind == TracedOperation::Kind::store) values.push_back(number_of(value, operation.type));
  }
  return values;
}

TEST(ValueTrace, RecordsEveryResultOfEveryThread) {
  const ValueTrace trace = trace_of("float x = in[lane];\nfloat y = x * 2.0f;\nout[lane] = y - 1.0f;");
  ASSERT_THAT(trace.threads, SizeIs(32));
  EXPECT_THAT(trace.functions, ElementsAre("test"));
  EXPECT_THAT(values_of(trace, 3, 0), ElementsAre(3.5));
  EXPECT_THAT(values_of(trace, 3, 1), ElementsAre(7.0));
  EXPECT_THAT(values_of(trace, 3, 2), ElementsAre(6.0));
  EXPECT_THAT(stored_by(trace, 3), ElementsAre(6.0));
  EXPECT_THAT(values_of(trace, 31, 1), ElementsAre(63.0));
}

TEST(ValueTrace, RecordsEveryIterationOfALoop) {
  const ValueTrace trace = trace_of("float s = 0.0f;\nfor (int i = 0; i < 3; ++i)\ns += in[i];\nout[lane] = s;");
  EXPECT_THAT(values_of(trace, 0, 2), ElementsAre(0.5, 0.5, 1.5, 2.0, 2.5, 4.5));
}

TEST(ValueTrace, RecordsWhatLanesComputeTogether) {
  const ValueTrace trace = trace_of("float s = simd_sum(in[lane]);\nfloat o = simd_shuffle_xor(in[lane], 1);\nout[lane] = s + o;");
  EXPECT_THAT(values_of(trace, 0, 0), ::testing::Contains(512.0));
  EXPECT_THAT(values_of(trace, 6, 1), ::testing::Contains(7.5));
}

TEST(ValueTrace, KnowsTypesAndComponents) {
  const ValueTrace trace =
      trace_of("half h = half(in[lane]);\nfloat2 v = float2(in[lane], 1.0f) + 1.0f;\nout[lane] = float(h) + v.x * v.y;");
  EXPECT_THAT(values_of(trace, 1, 0), ElementsAre(1.5, 1.5));
  EXPECT_THAT(values_of(trace, 1, 1), ElementsAre(1.5, 2.5, 2.0));
}

TEST(ValueTrace, RecordsStoredIntegers) {
  const ValueTrace trace = trace_of("device uint* words = (device uint*) out;\nwords[lane] = lane * 3;");
  EXPECT_THAT(stored_by(trace, 5), ElementsAre(15.0));
}

TEST(ValueTrace, RecordsStoresToThreadgroupMemoryOnce) {
  const ValueTrace trace = trace_of("sh[lane] = 2.0f;\nthreadgroup_barrier(mem_flags::mem_threadgroup);\nout[lane] = sh[31 - lane];");
  EXPECT_THAT(stored_by(trace, 0), ElementsAre(2.0, 2.0));
}

// Of its own reads; a thread that reads nothing has those of its threadgroup.
TEST(ValueTrace, FollowsReadsOfABuffer) {
  const ValueTrace trace = trace_of(
      "float x = 1.0f + float(lane);\nif (lane < 4) x += in[10 + lane];\nsimdgroup_barrier(mem_flags::mem_none);\nout[lane] = x * 2.0f;");
  const auto last = [&](std::size_t thread) { return trace.threads[thread].values.back().read; };
  EXPECT_EQ(trace.threads[0].values.front().read, 0U);
  EXPECT_EQ(last(2), 12 * sizeof(float) + 1);
  EXPECT_EQ(last(9), 13 * sizeof(float) + 1);
}

TEST(ValueTrace, KeepsThreadgroupsApart) {
  const ValueTrace trace = trace_of("out[tg * 32 + lane] = float(tg) * 2.0f;", {2, 1, 1});
  ASSERT_THAT(trace.threads, SizeIs(64));
  EXPECT_EQ(trace.threads[40].threadgroup.x, 1U);
  EXPECT_EQ(trace.threads[40].thread, 8U);
  EXPECT_THAT(stored_by(trace, 40), ElementsAre(2.0));
}

TEST(ValueTrace, SaysThatItIsFull) {
  const ValueTrace trace = trace_of("out[lane] = in[lane] * 2.0f;", {1, 1, 1}, 10);
  EXPECT_TRUE(trace.is_cut);
  EXPECT_EQ(trace.size, 10U);
}

TEST(ValueTrace, IsForThePolicyNativeAlone) {
  ValueTrace trace;
  EXPECT_THROW(Simulator({}, {.policy = Policy::checked, .trace = &trace}), std::invalid_argument);
  EXPECT_THROW(Simulator({}, {.concurrent = true, .trace = &trace}), std::invalid_argument);
}

}  // namespace
}  // namespace assay::tests::compare_value_trace_test
