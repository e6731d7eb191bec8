// What the encoder refuses, and in which words: the host's mistakes, named before anything runs.
//
// Source: Metal's own validation rules (Metal Feature Set Tables; MTLComputeCommandEncoder reference).
// Long because each call of the encoder has a test of what it does and one of what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "metal/compile/library.h"
#include "metal/errors.h"
#include "tests/conformance/execute.h"

namespace assay::tests::encoder_test {
namespace {

using namespace ::testing;

constexpr std::string_view kSource = R"(#include <metal_stdlib>
using namespace metal;
constant bool kFirst [[function_constant(0)]];
constant bool kSecond = !kFirst;
struct Args { uint n; float scale; };
kernel void test(device float* out [[buffer(0)]], constant Args& args [[buffer(3)]], threadgroup float* scratch [[threadgroup(1)]], uint t [[thread_index_in_threadgroup]]) {
  scratch[t] = args.scale;
  out[t] = scratch[t] * float(args.n);
}
[[max_total_threads_per_threadgroup(64)]] kernel void small(device float* out) { out[0] = 1; }
constant constexpr int kWidth = 32;
template <int N> [[kernel, max_total_threads_per_threadgroup(N * kWidth)]] void sized(device float* out, uint t [[thread_index_in_threadgroup]]) { out[t] = N; }
template [[host_name("sized_2")]] [[kernel]] void sized<2>(device float* out, uint t);
template [[host_name("sized_32")]] [[kernel]] void sized<32>(device float* out, uint t);
kernel void takes_turns(device float* out [[buffer(0)]], constant float& a [[buffer(1), function_constant(kFirst)]], constant float& c [[buffer(1), function_constant(kSecond)]]) { out[0] = kFirst ? a : c; }
)";

class Encoder : public testing::Test {
 protected:
  Encoder() : library_(metal::Library::from_source(kSource, "host.metal")), simulator_({library_}), output_(256) {}

  void bind_all() {
    simulator_.set_pipeline({"test", {}});
    simulator_.set_buffer(0, {&output_, 0});
    simulator_.set_bytes(3, std::as_bytes(std::span(arguments_)));
    simulator_.set_threadgroup_memory_length(1, 128);
  }

  template <typename Call>
  std::string refusal(Call call) {
    try {
      call();
    } catch (const metal::Error& error) {
      return error.what();
    }
    return "accepted";
  }
  std::string dispatch_refusal(metal::Size3 threads = {32, 1, 1}) {
    return refusal([&] { simulator_.dispatch_threadgroups({1, 1, 1}, threads); });
  }

  std::shared_ptr<metal::Library> library_;
  metal::Simulator simulator_;
  metal::Buffer output_;
  std::array<std::uint32_t, 2> arguments_ = {3, 0x40000000};  // n = 3, scale = 2.0f
};

TEST_F(Encoder, RunsWhenEverythingIsBound) {
  bind_all();
  simulator_.dispatch_threadgroups({1, 1, 1}, {32, 1, 1});
  EXPECT_EQ(output_.as<float>()[31], 6.0f);
}

TEST_F(Encoder, OffsetsMoveTheView) {
  bind_all();
  simulator_.set_buffer(0, {&output_, 64});
  simulator_.dispatch_threadgroups({1, 1, 1}, {4, 1, 1});
  EXPECT_EQ(output_.as<std::uint32_t>()[15], metal::kPoisonWord);
  EXPECT_EQ(output_.as<float>()[16], 6.0f);
}

TEST_F(Encoder, StateLastsFromOneDispatchToTheNext) {
  bind_all();
  simulator_.dispatch_threadgroups({1, 1, 1}, {32, 1, 1});
  arguments_[0] = 5;
  simulator_.set_bytes(3, std::as_bytes(std::span(arguments_)));
  simulator_.dispatch_threadgroups({1, 1, 1}, {16, 1, 1});
  EXPECT_EQ(output_.as<float>()[15], 10.0f);
  EXPECT_EQ(output_.as<float>()[16], 6.0f);
}

TEST_F(Encoder, DispatchThreadsTrimsTheLastThreadgroup) {
  bind_all();
  simulator_.dispatch_threads({21, 1, 1}, {32, 1, 1});
  EXPECT_EQ(output_.as<float>()[20], 6.0f);
  EXPECT_EQ(output_.as<std::uint32_t>()[21], metal::kPoisonWord);
}

TEST_F(Encoder, RefusesWhatMetalForbids) {
  EXPECT_THAT(refusal([&] { simulator_.dispatch_threadgroups({1, 1, 1}, {32, 1, 1}); }), HasSubstr("set_pipeline"));
  EXPECT_THAT(refusal([&] { simulator_.set_pipeline({"tset", {}}); }), AllOf(HasSubstr("tset"), HasSubstr("host.metal")));
  simulator_.set_pipeline({"test", {}});
  EXPECT_THAT(dispatch_refusal(), AllOf(HasSubstr("'out'"), HasSubstr("index 0"), HasSubstr("not bound")));
  simulator_.set_bytes(0, std::as_bytes(std::span(arguments_)));
  EXPECT_THAT(dispatch_refusal(), AllOf(HasSubstr("'out'"), HasSubstr("device pointer"), HasSubstr("set_bytes")));
  simulator_.set_buffer(0, {&output_, 0});
  EXPECT_THAT(dispatch_refusal(), AllOf(HasSubstr("'args'"), HasSubstr("not bound")));
  simulator_.set_bytes(3, std::as_bytes(std::span(arguments_).first(1)));
  EXPECT_THAT(dispatch_refusal(), AllOf(HasSubstr("'args'"), HasSubstr("8 bytes"), HasSubstr("only 4")));
  simulator_.set_bytes(3, std::as_bytes(std::span(arguments_)));
  EXPECT_THAT(dispatch_refusal(), AllOf(HasSubstr("'scratch'"), HasSubstr("threadgroup index 1")));
  EXPECT_THAT(refusal([&] { simulator_.set_threadgroup_memory_length(1, 100); }), AllOf(HasSubstr("100"), HasSubstr("multiple of 16")));
  simulator_.set_threadgroup_memory_length(1, 40 * 1024);
  EXPECT_THAT(dispatch_refusal(), AllOf(HasSubstr("40960"), HasSubstr("32768"), HasSubstr("host.metal:6")));
  simulator_.set_threadgroup_memory_length(1, 128);
  EXPECT_THAT(dispatch_refusal({1025, 1, 1}), AllOf(HasSubstr("1025"), HasSubstr("1024")));
  EXPECT_THAT(dispatch_refusal({0, 1, 1}), HasSubstr("empty"));
  EXPECT_EQ(dispatch_refusal(), "accepted");
}

TEST_F(Encoder, RefusesIndicesAndSizesOutOfRange) {
  EXPECT_THAT(refusal([&] { simulator_.set_buffer(31, {&output_, 0}); }), AllOf(HasSubstr("31"), HasSubstr("0..30")));
  EXPECT_THAT(refusal([&] { simulator_.set_buffer(0, {}); }), HasSubstr("no buffer"));
  EXPECT_THAT(refusal([&] { simulator_.set_buffer(0, {&output_, 257}); }), AllOf(HasSubstr("257"), HasSubstr("256")));
  const std::vector<std::byte> large(4097);
  EXPECT_THAT(refusal([&] { simulator_.set_bytes(3, large); }), AllOf(HasSubstr("4097"), HasSubstr("4096")));
  EXPECT_EQ(refusal([&] { simulator_.set_bytes(3, std::span(large).first(4096)); }), "accepted");
}

TEST_F(Encoder, ObeysTheKernelsOwnThreadLimit) {
  simulator_.set_pipeline({"small", {}});
  simulator_.set_buffer(0, {&output_, 0});
  EXPECT_THAT(dispatch_refusal({65, 1, 1}), AllOf(HasSubstr("65"), HasSubstr("64"), HasSubstr("max_total_threads")));
  EXPECT_EQ(dispatch_refusal({64, 1, 1}), "accepted");
}

TEST_F(Encoder, ObeysAThreadLimitThatATemplateArgumentDecides) {
  simulator_.set_pipeline({"sized_2", {}});
  simulator_.set_buffer(0, {&output_, 0});
  EXPECT_THAT(dispatch_refusal({65, 1, 1}), AllOf(HasSubstr("65"), HasSubstr("64"), HasSubstr("max_total_threads")));
  EXPECT_EQ(dispatch_refusal({64, 1, 1}), "accepted");
  simulator_.set_pipeline({"sized_32", {}});
  EXPECT_EQ(simulator_.hazards().size(), 0u);
  EXPECT_EQ(library_->pipeline({"sized_32", {}})->layout().max_total_threads, 1024u);
}

TEST_F(Encoder, ArgumentsUnderConditionsMayShareAnIndex) {
  simulator_.set_pipeline({"takes_turns", {{0, false}}});
  simulator_.set_buffer(0, {&output_, 0});
  simulator_.set_bytes(1, std::as_bytes(std::span(arguments_)).subspan(4));
  EXPECT_EQ(dispatch_refusal({1, 1, 1}), "accepted");
  EXPECT_EQ(output_.as<float>()[0], 2.0F);
}

TEST_F(Encoder, ReflectsArgumentsAndStructLayouts) {
  const auto& layout = library_->pipeline({"test", {}})->layout();
  ASSERT_EQ(layout.arguments.size(), 3u);
  const auto* args = layout.find("args");
  ASSERT_NE(args, nullptr);
  EXPECT_EQ(args->space, metal::AddressSpace::constant);
  EXPECT_EQ(args->index, 3u);
  EXPECT_TRUE(args->is_reference);
  ASSERT_TRUE(args->layout.has_value());
  EXPECT_EQ(args->layout->size, 8u);
  ASSERT_NE(args->layout->find("scale"), nullptr);
  EXPECT_EQ(args->layout->find("scale")->offset, 4u);
  EXPECT_EQ(args->layout->find("scale")->type, metal::ScalarType::float32);
  EXPECT_EQ(layout.find("out")->element, metal::ScalarType::float32);
  EXPECT_FALSE(layout.find("out")->is_const);
  EXPECT_EQ(layout.find("scratch")->space, metal::AddressSpace::threadgroup);
  EXPECT_EQ(layout.line, 6u);
}

// ---- concurrent encoders

constexpr std::string_view kTwoKernels = R"(#include <metal_stdlib>
using namespace metal;
kernel void produce(device int* to [[buffer(0)]], constant uint& first [[buffer(1)]], uint t [[thread_index_in_threadgroup]]) { to[first + t] = int(t); }
kernel void consume(device const int* from [[buffer(0)]], device int* to [[buffer(1)]], constant uint& first [[buffer(2)]], uint t [[thread_index_in_threadgroup]]) {
  to[t] = from[first + t] + 1;
}
)";

class Concurrent : public testing::Test {
 protected:
  void produce(metal::Simulator& simulator, metal::Buffer& to, std::uint32_t first) {
    simulator.set_pipeline({"produce", {}});
    simulator.set_buffer(0, {&to, 0});
    simulator.set_bytes(1, std::as_bytes(std::span(&first, 1)));
    simulator.dispatch_threadgroups({1, 1, 1}, {32, 1, 1});
  }
  void consume(metal::Simulator& simulator, metal::Buffer& from, metal::Buffer& to, std::uint32_t first) {
    simulator.set_pipeline({"consume", {}});
    simulator.set_buffer(0, {&from, 0});
    simulator.set_buffer(1, {&to, 0});
    simulator.set_bytes(2, std::as_bytes(std::span(&first, 1)));
    simulator.dispatch_threadgroups({1, 1, 1}, {32, 1, 1});
  }

  std::shared_ptr<metal::Library> library_ = metal::Library::from_source(kTwoKernels, "two.metal");
  metal::Buffer a_{512, "a"};
  metal::Buffer b_{512, "b"};
};

TEST_F(Concurrent, ReadingWhatAnUnorderedDispatchWritesIsAHazard) {
  metal::Simulator simulator({library_}, {.concurrent = true});
  produce(simulator, a_, 0);
  consume(simulator, a_, b_, 31);
  ASSERT_EQ(simulator.hazards().size(), 1u);
  const auto& hazard = simulator.hazards()[0];
  EXPECT_EQ(hazard.kind, metal::HazardKind::dispatch_hazard);
  EXPECT_THAT(hazard.message, AllOf(HasSubstr("'consume') reads bytes 124..127 of buffer 'a'"), HasSubstr("'produce') writes"),
                                    HasSubstr("memory_barrier")));
}

TEST_F(Concurrent, WritingWhatAnUnorderedDispatchReadsOrWritesIsAHazard) {
  metal::Simulator simulator({library_}, {.concurrent = true});
  consume(simulator, a_, b_, 0);
  produce(simulator, a_, 16);
  produce(simulator, b_, 0);
  ASSERT_EQ(simulator.hazards().size(), 1u);
  EXPECT_EQ(simulator.hazards()[0].count, 2u);
}

TEST_F(Concurrent, TouchingDifferentBytesOfOneBufferIsNone) {
  metal::Simulator simulator({library_}, {.concurrent = true});
  produce(simulator, a_, 0);
  produce(simulator, a_, 32);
  consume(simulator, a_, b_, 64);
  EXPECT_TRUE(simulator.hazards().empty());
}

TEST_F(Concurrent, ABarrierOrders) {
  metal::Simulator simulator({library_}, {.concurrent = true});
  produce(simulator, a_, 0);
  simulator.memory_barrier();
  consume(simulator, a_, b_, 0);
  EXPECT_TRUE(simulator.hazards().empty());
  EXPECT_EQ(b_.as<int>()[31], 32);
}

TEST_F(Concurrent, ASerialEncoderOrdersByItself) {
  metal::Simulator simulator({library_});
  produce(simulator, a_, 0);
  consume(simulator, a_, b_, 0);
  EXPECT_TRUE(simulator.hazards().empty());
}

// ---- buffers that end before the simulator does: their memory is unmapped, so that looking at it faults

constexpr std::string_view kShortLived = R"(#include <metal_stdlib>
using namespace metal;
kernel void fill(device float* out [[buffer(0)]], device float* scratch [[buffer(1)]], uint t [[thread_index_in_threadgroup]]) { scratch[t] = t * 0.1f; out[t] = scratch[t] + 1; }
kernel void copy(device float* out [[buffer(0)]], device const float* in [[buffer(2)]], uint t [[thread_index_in_threadgroup]]) { out[t] = in[t]; }
)";

metal::SimulatorOptions options_of(metal::Policy policy, bool concurrent = false) {
  metal::SimulatorOptions options;
  options.policy = policy;
  options.concurrent = concurrent;
  return options;
}

class ShortLivedBuffers : public testing::TestWithParam<metal::SimulatorOptions> {
 protected:
  ShortLivedBuffers() : simulator_({metal::Library::from_source(kShortLived, "short.metal")}, GetParam()) {}

  void run(const char* function) {
    simulator_.set_pipeline({function, {}});
    simulator_.dispatch_threadgroups({1, 1, 1}, {32, 1, 1});
  }

  metal::Simulator simulator_;
};

TEST_P(ShortLivedBuffers, MayEndWhenTheirDispatchIsOver) {
  auto out = std::make_unique<metal::Buffer>(128, "out");
  auto scratch = std::make_unique<metal::Buffer>(128, "scratch");
  simulator_.set_buffer(0, {out.get(), 0});
  simulator_.set_buffer(1, {scratch.get(), 0});
  run("fill");
  EXPECT_FLOAT_EQ(out->as<float>()[10], 2.0F);
  scratch.reset();
  // It is still set at an index that this kernel does not take.
  const auto in = metal::Buffer::of<float>(std::vector<float>(32, 7.0F), "in");
  simulator_.set_buffer(2, {in.get(), 0});
  simulator_.memory_barrier();
  run("copy");
  EXPECT_EQ(out->as<float>()[31], 7.0F);
  out.reset();
  EXPECT_TRUE(simulator_.hazards().empty());
}

TEST_P(ShortLivedBuffers, WhatAKernelTakesMustBeThere) {
  auto out = std::make_unique<metal::Buffer>(128, "out");
  auto in = metal::Buffer::of<float>(std::vector<float>(32, 7.0F), "in");
  simulator_.set_buffer(0, {out.get(), 0});
  simulator_.set_buffer(2, {in.get(), 0});
  run("copy");
  in.reset();
  // Another buffer, which may well lie at the same address, is not the one that was bound.
  in = metal::Buffer::of<float>(std::vector<float>(32, 8.0F), "in");
  try {
    run("copy");
    FAIL() << "a buffer that is gone was read";
  } catch (const metal::EncodeError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("'in' (buffer index 2"), HasSubstr("does not exist any more")));
  }
  EXPECT_EQ(out->as<float>()[31], 7.0F);
}

INSTANTIATE_TEST_SUITE_P(Policies, ShortLivedBuffers,
                         testing::Values(options_of(metal::Policy::native), options_of(metal::Policy::native, true),
                                         options_of(metal::Policy::checked), options_of(metal::Policy::shadow)));

// A buffer where another one was, object and memory alike. Of some hundred one is: the allocator takes what was freed last.
struct Reused {
  std::unique_ptr<metal::Buffer> buffer;
  bool is_reused = false;
};
Reused remake(std::unique_ptr<metal::Buffer> old) {
  const void* const object = old.get();
  const void* const memory = std::as_const(*old).bytes().data();
  const std::size_t size = old->size();
  old.reset();
  std::vector<std::unique_ptr<metal::Buffer>> others;
  for (int i = 0; i < 200; ++i) {
    auto buffer = std::make_unique<metal::Buffer>(size, "new");
    if (buffer.get() == object && std::as_const(*buffer).bytes().data() == memory) return {std::move(buffer), true};
    others.push_back(std::move(buffer));
  }
  return {std::move(others.back()), false};
}

TEST(BuffersAtOneAddress, AreNotMistakenForEachOther) {
  const auto library = metal::Library::from_source(kShortLived, "short.metal");
  const auto run = [&](metal::Simulator& simulator, const char* function) {
    simulator.set_pipeline({function, {}});
    simulator.dispatch_threadgroups({1, 1, 1}, {32, 1, 1});
  };
  metal::Buffer out(128, "out");
  metal::Buffer other(128, "other");
  // The buffer that a kernel has filled, or another one at its address.
  const auto filled = [&](metal::Simulator& simulator, bool same) {
    auto scratch = std::make_unique<metal::Buffer>(128, "scratch");
    simulator.set_buffer(0, {&out, 0});
    simulator.set_buffer(1, {scratch.get(), 0});
    run(simulator, "fill");
    if (same) return scratch;
    Reused reused = remake(std::move(scratch));
    EXPECT_TRUE(reused.is_reused);
    return std::move(reused.buffer);
  };
  {
    // Without a barrier a read of what another dispatch has written is a hazard; of a buffer of its own it is none.
    for (const bool same : {true, false}) {
      metal::Simulator simulator({library}, options_of(metal::Policy::native, true));
      const std::unique_ptr<metal::Buffer> scratch = filled(simulator, same);
      scratch->as<float>()[0] = 3;
      simulator.set_buffer(0, {&other, 0});
      simulator.set_buffer(2, {scratch.get(), 0});
      run(simulator, "copy");
      ASSERT_EQ(simulator.hazards().size(), same ? 1U : 0U);
      if (same) EXPECT_THAT(simulator.hazards()[0].message, HasSubstr("reads bytes 0..127 of buffer 'scratch'"));
    }
  }
  {
    // The new one is unwritten, even if the old one was written.
    for (const bool same : {true, false}) {
      metal::Simulator simulator({library}, options_of(metal::Policy::checked));
      const std::unique_ptr<metal::Buffer> scratch = filled(simulator, same);
      simulator.set_buffer(2, {scratch.get(), 0});
      run(simulator, "copy");
      ASSERT_EQ(simulator.hazards().size(), same ? 0U : 1U);
      if (!same) EXPECT_EQ(simulator.hazards()[0].kind, metal::HazardKind::uninitialised_read);
    }
  }
  {
    // The same bits at the same address have the shadow of a kernel that computed them, and only then.
    metal::Simulator simulator({library}, options_of(metal::Policy::shadow));
    auto scratch = std::make_unique<metal::Buffer>(128, "scratch");
    simulator.set_buffer(0, {&out, 0});
    simulator.set_buffer(1, {scratch.get(), 0});
    run(simulator, "fill");
    const float number = scratch->as<float>()[7];
    const double shadow = simulator.shadows(*scratch, 28, 1, metal::FloatType::float32)[0];
    EXPECT_NE(shadow, number);
    Reused reused = remake(std::move(scratch));
    ASSERT_TRUE(reused.is_reused);
    reused.buffer->as<float>()[7] = number;
    EXPECT_EQ(simulator.shadows(*reused.buffer, 28, 1, metal::FloatType::float32)[0], number);
    simulator.set_buffer(0, {&other, 0});
    simulator.set_buffer(2, {reused.buffer.get(), 0});
    run(simulator, "copy");
    EXPECT_EQ(simulator.shadows(other, 28, 1, metal::FloatType::float32)[0], number);
    EXPECT_EQ(simulator.shadows(*reused.buffer, 28, 1, metal::FloatType::float32)[0], number);
  }
}

}  // namespace
}  // namespace assay::tests::encoder_test
