// What encoding calls become for a GPU, and that it refuses what the simulator refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "metal/devices/cuda/encoder.h"
#include "metal/devices/device.h"
#include "metal/errors.h"

namespace assay::tests::cuda_encoder_test {
namespace {

using namespace ::testing;
using namespace metal;

// kernel void twice(device float* out [[buffer(0)]], constant uint& n [[buffer(3)]], threadgroup float* a [[threadgroup(1)]], ...)
// with 20 bytes of variables on the CPU and 32 on the GPU.
cuda::CompiledFunction twice(const PipelineDescriptor& descriptor) {
  cuda::CompiledFunction made;
  made.kernel = {"the PTX of " + descriptor.function, 32};
  made.layout.function = descriptor.function;
  made.layout.file = "twice.metal";
  made.layout.line = 2;
  made.layout.static_threadgroup_bytes = 20;
  made.layout.arguments.resize(4);
  made.layout.arguments[0] = {.name = "out", .space = AddressSpace::device, .index = 0, .type_name = "float", .size = 4, .layout = {}};
  made.layout.arguments[1] = {.name = "n",
                              .space = AddressSpace::constant,
                              .index = 3,
                              .is_reference = true,
                              .is_const = true,
                              .type_name = "uint",
                              .size = 4,
                              .layout = {}};
  made.layout.arguments[2] = {.name = "a", .space = AddressSpace::threadgroup, .index = 1, .type_name = "float", .size = 4, .layout = {}};
  made.layout.arguments[3] = {.name = "b", .space = AddressSpace::threadgroup, .index = 2, .type_name = "float", .size = 4, .layout = {}};
  return made;
}

class CudaEncoder : public Test {
 protected:
  void bind_all() {
    encoder_.set_pipeline({"twice", {}});
    encoder_.set_buffer(0, {&out_, 16});
    encoder_.set_bytes(3, std::as_bytes(std::span(count_)));
    encoder_.set_threadgroup_memory_length(1, 64);
    encoder_.set_threadgroup_memory_length(2, 128);
  }

  Buffer out_{256, "out"};
  std::array<std::uint32_t, 1> count_ = {7};
  cuda::Encoder encoder_{twice};
};

TEST_F(CudaEncoder, MakesWork) {
  bind_all();
  encoder_.dispatch_threads({100, 3, 1}, {32, 2, 1});
  const cuda::Work& work = encoder_.work();
  ASSERT_EQ(work.kernels.size(), 1U);
  EXPECT_EQ(work.kernels.front().function, "twice");
  EXPECT_EQ(work.kernels.front().text, "the PTX of twice");
  ASSERT_EQ(work.dispatches.size(), 1U);
  const cuda::Dispatch& made = work.dispatches.front();
  EXPECT_EQ(made.threadgroups, (Size3{4, 2, 1}));
  EXPECT_EQ(made.threads, (Size3{32, 2, 1}));
  EXPECT_EQ(made.total, (Size3{100, 3, 1}));
  EXPECT_THAT(made.arguments, ElementsAre(cuda::Argument{0, 0, 16, {}}, cuda::Argument{3, {}, 0, std::string("\7\0\0\0", 4)}));
  // Behind the variables, as the GPU has them.
  EXPECT_EQ(made.threadgroup_arguments[1], 32U);
  EXPECT_EQ(made.threadgroup_arguments[2], 96U);
  EXPECT_EQ(made.shared_bytes, 224U);
  EXPECT_THAT(encoder_.buffers(), ElementsAre(&out_));
}

TEST_F(CudaEncoder, KnowsWhichBuffersNoArgumentCanWrite) {
  Buffer count(16, "count");
  bind_all();
  encoder_.set_buffer(3, {&count, 0});
  encoder_.dispatch_threadgroups({1, 1, 1}, {32, 1, 1});
  EXPECT_TRUE(encoder_.is_constant(count));
  EXPECT_FALSE(encoder_.is_constant(out_));
  encoder_.set_buffer(0, {&count, 0});
  encoder_.dispatch_threadgroups({1, 1, 1}, {32, 1, 1});
  EXPECT_FALSE(encoder_.is_constant(count)) << "one argument is enough";
}

TEST_F(CudaEncoder, CompilesAFunctionOnceAndKeepsItsState) {
  bind_all();
  encoder_.dispatch_threadgroups({1, 1, 1}, {32, 1, 1});
  encoder_.memory_barrier();
  encoder_.set_pipeline({"other", {}});
  encoder_.dispatch_threadgroups({2, 1, 1}, {32, 1, 1});
  encoder_.set_pipeline({"twice", {}});
  encoder_.dispatch_threadgroups({3, 1, 1}, {32, 1, 1});
  ASSERT_EQ(encoder_.work().kernels.size(), 2U);
  ASSERT_EQ(encoder_.work().dispatches.size(), 3U);
  EXPECT_EQ(encoder_.work().dispatches[1].kernel, 1U);
  EXPECT_EQ(encoder_.work().dispatches[2].kernel, 0U);
  EXPECT_EQ(encoder_.work().dispatches[2].arguments, encoder_.work().dispatches[0].arguments);
}

TEST_F(CudaEncoder, RefusesWhatMetalForbids) {
  EXPECT_THROW(encoder_.dispatch_threadgroups({1, 1, 1}, {32, 1, 1}), EncodeError) << "no pipeline";
  encoder_.set_pipeline({"twice", {}});
  EXPECT_THROW(encoder_.dispatch_threadgroups({1, 1, 1}, {32, 1, 1}), EncodeError) << "nothing is bound";
  bind_all();
  EXPECT_THROW(encoder_.dispatch_threadgroups({1, 0, 1}, {32, 1, 1}), EncodeError) << "an empty grid";
  EXPECT_THROW(encoder_.dispatch_threadgroups({1, 1, 1}, {1025, 1, 1}), EncodeError) << "too many threads";
  EXPECT_THROW(encoder_.set_threadgroup_memory_length(1, 3), EncodeError);
  EXPECT_THROW(encoder_.set_bytes(31, std::as_bytes(std::span(count_))), EncodeError);
  EXPECT_THROW(encoder_.dispatch_threadgroups({65536, 65536, 1}, {1, 1, 1}), EncodeError) << "more blocks than a grid has";
  EXPECT_THAT(encoder_.work().dispatches, IsEmpty());
}

TEST(DeviceNames, AreReadAndPrinted) {
  for (const char* name : {"simulator", "cuda", "cuda:1", "cuda:12"}) {
    const auto device = parse_device(name);
    ASSERT_TRUE(device) << name;
    EXPECT_EQ(to_string(*device), name);
  }
  EXPECT_EQ(to_string(*parse_device("cuda:0")), "cuda");
  for (const char* name : {"", "gpu", "cuda:", "cuda:-1", "cuda:x", "CUDA", "simulator:1", "cuda:99999999999"})
    EXPECT_FALSE(parse_device(name)) << name;
}

}  // namespace
}  // namespace assay::tests::cuda_encoder_test
