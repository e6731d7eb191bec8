// What the CUDA driver is asked for when work is carried out, and what its errors become.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "metal/buffer.h"
#include "metal/devices/cuda/gpu.h"
#include "metal/errors.h"
#include "metal/guarded_memory.h"
#include "tests/support/mock_driver.h"

namespace assay::tests::cuda_gpu_test {
namespace {

using namespace ::testing;
using namespace metal::cuda;
using metal::cuda_abi::Launch;
using std::chrono::milliseconds;

constexpr auto kDone = [](const std::string&, const Launch&, const LaunchShape&) { return Status::success; };

// Work of one dispatch on `out`, with 8 bytes at index 3.
Work work_of(std::uint32_t threads = 64) {
  Work work;
  work.kernels = {{"twice", "digest", "the PTX"}};
  Dispatch& dispatch = work.dispatches.emplace_back();
  dispatch.arguments = {{0, std::uint64_t{0}, 8, {}}, {3, std::nullopt, 0, std::string("\1\0\0\0\2\0\0\0", 8)}};
  dispatch.threadgroup_arguments.assign(metal::cuda_abi::kBuffers, 0);
  dispatch.threadgroup_arguments[1] = 48;
  dispatch.shared_bytes = 112;
  dispatch.threadgroups = {3, 2, 1};
  dispatch.threads = {threads, 1, 1};
  dispatch.total = {3 * threads - 5, 2, 1};
  return work;
}

class CudaGpu : public Test {
 protected:
  CudaGpu() {
    std::iota(bytes_.begin(), bytes_.end(), std::uint8_t{0});
    driver_.behave(kDone);
  }

  WorkReport run(Gpu& gpu, const Work& work, milliseconds limit = milliseconds(10000)) {
    const std::array buffers = {HostBuffer{reinterpret_cast<std::byte*>(bytes_.data()), bytes_.size(), "out", false}};
    return gpu.run(work, buffers, limit);
  }
  std::optional<GpuError> error_of(Gpu& gpu, const Work& work, milliseconds limit = milliseconds(10000)) {
    try {
      static_cast<void>(run(gpu, work, limit));
    } catch (const GpuError& error) {
      return error;
    }
    return std::nullopt;
  }

  NiceMock<MockDriver> driver_;
  std::vector<std::uint8_t> bytes_ = std::vector<std::uint8_t>(1000);
};

TEST_F(CudaGpu, IsAskedInThisOrder) {
  InSequence order;
  EXPECT_CALL(driver_, initialise());
  EXPECT_CALL(driver_, count_devices(_));
  EXPECT_CALL(driver_, create_context(0, _));
  EXPECT_CALL(driver_, load_module("the PTX", 0, _, _));
  EXPECT_CALL(driver_, find_function(_, StrEq("__assay_kernel"), _));
  EXPECT_CALL(driver_, allocate(_, _));
  // Both blocks with their guards, as the host has laid them out.
  constexpr std::size_t kAll = Arena::kGuardBytes + 1024 + 2 * Arena::kGuardBytes + 256 + Arena::kGuardBytes;
  EXPECT_CALL(driver_, copy_in(_, _, kAll)).WillOnce([&](Address to, const void* from, std::size_t bytes) {
    const auto* image = static_cast<const std::uint8_t*>(from);
    std::uint32_t guard = 0;
    std::memcpy(&guard, image, sizeof guard);
    EXPECT_EQ(guard, metal::kMarginPoisonWord);
    EXPECT_EQ(std::memcmp(image + Arena::kGuardBytes, bytes_.data(), 1000), 0);
    return std::memcpy(MockDriver::pointer(to), from, bytes), Status::success;
  });
  EXPECT_CALL(driver_, record_event(_));
  EXPECT_CALL(driver_, launch(_, _, _));
  EXPECT_CALL(driver_, record_event(_));
  EXPECT_CALL(driver_, query_event(_)).WillOnce(Return(Status::not_ready)).WillOnce(Return(Status::success));
  EXPECT_CALL(driver_, copy_out(_, _, kAll));
  EXPECT_CALL(driver_, release(_));
  EXPECT_CALL(driver_, destroy_context(_));
  Gpu gpu(driver_, 0);
  EXPECT_DOUBLE_EQ(run(gpu, work_of()).seconds, 0.0005);
}

TEST_F(CudaGpu, KernelsGetTheirParameter) {
  std::optional<Launch> seen;
  std::string bytes(8, ' ');
  EXPECT_CALL(driver_, launch).WillOnce([&](Handle, const LaunchShape& shape, void* parameter) {
    std::memcpy(&seen.emplace(), parameter, sizeof(Launch));
    std::memcpy(bytes.data(), MockDriver::pointer(seen->buffers[3]), bytes.size());
    EXPECT_EQ(*static_cast<std::uint8_t*>(MockDriver::pointer(seen->buffers[0])), 8);  // bytes_[8]: the view begins there
    EXPECT_EQ(shape.blocks, 6U);
    EXPECT_EQ(shape.threads, 64U);
    EXPECT_EQ(shape.shared_bytes, 112U);
    return Status::success;
  });
  Gpu gpu(driver_, 0);
  static_cast<void>(run(gpu, work_of()));
  ASSERT_TRUE(seen);
  EXPECT_EQ(bytes, std::string("\1\0\0\0\2\0\0\0", 8));
  EXPECT_EQ(seen->buffers[1], 0U);
  EXPECT_EQ(seen->threadgroup_arguments[1], 48U);
  EXPECT_THAT(seen->grid, ElementsAre(3, 2, 1));
  EXPECT_THAT(seen->threads, ElementsAre(64, 1, 1));
  EXPECT_THAT(seen->total, ElementsAre(187, 2, 1));
}

TEST_F(CudaGpu, ResultsComeBack) {
  driver_.behave([](const std::string&, const Launch& launch, const LaunchShape&) {
    static_cast<std::uint8_t*>(MockDriver::pointer(launch.buffers[0]))[1] = 99;
    return Status::success;
  });
  Gpu gpu(driver_, 0);
  EXPECT_THAT(run(gpu, work_of()).hazards, IsEmpty());
  EXPECT_EQ(bytes_[9], 99);
  EXPECT_EQ(bytes_[8], 8);
}

TEST_F(CudaGpu, EveryDispatchSeesWhatTheOneBeforeWrote) {
  driver_.behave([](const std::string&, const Launch& launch, const LaunchShape&) {
    *static_cast<std::uint8_t*>(MockDriver::pointer(launch.buffers[0])) *= 2;
    return Status::success;
  });
  Work work = work_of();
  work.dispatches.push_back(work.dispatches.front());
  Gpu gpu(driver_, 0);
  EXPECT_CALL(driver_, load_module).Times(1);
  EXPECT_DOUBLE_EQ(run(gpu, work).seconds, 0.001);
  EXPECT_EQ(bytes_[8], 32);
}

TEST_F(CudaGpu, ALoadedKernelIsKept) {
  Gpu gpu(driver_, 0);
  EXPECT_CALL(driver_, load_module).Times(1);
  static_cast<void>(run(gpu, work_of()));
  Work again = work_of();
  again.kernels.front().text.clear();
  static_cast<void>(run(gpu, again));
}

TEST_F(CudaGpu, StrayWritesAreHazards) {
  for (const auto& [offset, side] : {std::pair{std::ptrdiff_t{1000 - 8}, "behind"}, std::pair{std::ptrdiff_t{-9}, "before"}}) {
    driver_.behave([at = offset](const std::string&, const Launch& launch, const LaunchShape&) {
      static_cast<std::uint8_t*>(MockDriver::pointer(launch.buffers[0]))[at] = 1;
      return Status::success;
    });
    Gpu gpu(driver_, 0);
    const WorkReport report = run(gpu, work_of());
    ASSERT_EQ(report.hazards.size(), 1U) << side;
    EXPECT_EQ(report.hazards.front().kind, metal::HazardKind::invalid_access);
    EXPECT_EQ(report.hazards.front().function, "twice");
    EXPECT_EQ(report.hazards.front().message,
              "invalid access: a thread wrote " + std::string(side) + " the 1000 bytes of buffer 0 ('out')");
  }
}

// Blocks that are too large to travel together are copied and guarded one by one.
TEST_F(CudaGpu, StrayWritesBesideLargeBuffersAreHazards) {
  bytes_.resize(std::size_t{40} << 20);
  for (const auto& [offset, side] : {std::pair{std::ptrdiff_t{(40 << 20) - 8}, "behind"}, std::pair{std::ptrdiff_t{-9}, "before"}}) {
    driver_.behave([at = offset](const std::string&, const Launch& launch, const LaunchShape&) {
      auto* bytes = static_cast<std::uint8_t*>(MockDriver::pointer(launch.buffers[0]));
      bytes[at] = 1;
      bytes[0] = 77;
      return Status::success;
    });
    EXPECT_CALL(driver_, fill(_, metal::kMarginPoisonWord, _));
    EXPECT_CALL(driver_, copy_in(_, bytes_.data(), bytes_.size()));
    EXPECT_CALL(driver_, copy_in(_, _, 8));
    Gpu gpu(driver_, 0);
    const WorkReport report = run(gpu, work_of());
    ASSERT_EQ(report.hazards.size(), 1U) << side;
    EXPECT_THAT(report.hazards.front().message, HasSubstr("a thread wrote " + std::string(side) + " the 41943040 bytes"));
    EXPECT_EQ(bytes_[8], 77);
  }
}

TEST_F(CudaGpu, ABadAddressLosesTheContextAndTheNextOneWorks) {
  driver_.behave([](const std::string&, const Launch&, const LaunchShape&) { return Status::illegal_address; });
  {
    EXPECT_CALL(driver_, destroy_context(_));
    Gpu gpu(driver_, 0);
    const auto error = error_of(gpu, work_of());
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind, GpuError::Kind::kernel_fault);
    EXPECT_EQ(error->function, "twice");
    EXPECT_STREQ(error->what(), "CUDA_ERROR_700");
    EXPECT_TRUE(gpu.is_lost());
  }
  driver_.behave(kDone);
  EXPECT_CALL(driver_, create_context(0, _));
  EXPECT_CALL(driver_, destroy_context(_));
  Gpu next(driver_, 0);
  EXPECT_THAT(run(next, work_of()).hazards, IsEmpty());
  EXPECT_FALSE(next.is_lost());
}

TEST_F(CudaGpu, AKernelThatDoesNotEndIsGivenUp) {
  driver_.behave([](const std::string&, const Launch&, const LaunchShape&) { return Status::not_ready; });
  // It would wait for the kernel.
  EXPECT_CALL(driver_, destroy_context(_)).Times(0);
  Gpu gpu(driver_, 0);
  const auto error = error_of(gpu, work_of(), milliseconds(30));
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind, GpuError::Kind::timeout);
  EXPECT_TRUE(gpu.is_lost());
}

TEST_F(CudaGpu, TooLittleMemoryIsNoFaultOfTheKernel) {
  Gpu gpu(driver_, 0);
  EXPECT_CALL(driver_, allocate).WillOnce(Return(Status::out_of_memory));
  const auto error = error_of(gpu, work_of());
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind, GpuError::Kind::out_of_memory);
  EXPECT_STREQ(error->what(), "the GPU has no room for the buffers: CUDA_ERROR_2");
  EXPECT_FALSE(gpu.is_lost());
}

TEST_F(CudaGpu, TheLogOfTheDriversCompilerIsReported) {
  Gpu gpu(driver_, 0);
  EXPECT_CALL(driver_, load_module)
      .WillOnce([](const std::string&, unsigned, Handle&, std::string& log) {
        log = "ptxas line 3: unknown symbol";
        return static_cast<Status>(218);
      })
      .WillRepeatedly(DoDefault());
  const auto error = error_of(gpu, work_of());
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind, GpuError::Kind::refused);
  EXPECT_STREQ(error->what(), "the driver does not load 'twice': ptxas line 3: unknown symbol: CUDA_ERROR_218");
  // It is no kernel that the GPU has.
  EXPECT_FALSE(error_of(gpu, work_of()));
}

TEST_F(CudaGpu, AKernelOfManyRegistersIsToldToTakeFewer) {
  EXPECT_CALL(driver_, function_attribute(_, FunctionAttribute::most_threads, _))
      .WillOnce([](Handle, FunctionAttribute, int& value) { return value = 512, Status::success; })
      .WillRepeatedly(DoDefault());
  EXPECT_CALL(driver_, load_module("the PTX", 0, _, _));
  EXPECT_CALL(driver_, unload_module(_));
  EXPECT_CALL(driver_, load_module("the PTX", 64, _, _));
  Gpu gpu(driver_, 0);
  static_cast<void>(run(gpu, work_of(1024)));
}

TEST_F(CudaGpu, MuchSharedMemoryNeedsConsent) {
  Gpu gpu(driver_, 0);
  Work work = work_of();
  EXPECT_CALL(driver_, set_function_attribute).Times(0);
  static_cast<void>(run(gpu, work));
  Mock::VerifyAndClearExpectations(&driver_);
  work.dispatches.front().shared_bytes = 50000;
  EXPECT_CALL(driver_, set_function_attribute(_, FunctionAttribute::dynamic_memory, 50000));
  static_cast<void>(run(gpu, work));
}

TEST_F(CudaGpu, ThereMayBeNone) {
  EXPECT_CALL(driver_, count_devices(_)).WillRepeatedly([](int& count) { return count = 0, Status::success; });
  EXPECT_THROW(Gpu(driver_, 0), metal::EnvironmentError);
}

TEST_F(CudaGpu, TheNumberMayBeTooLarge) {
  try {
    const Gpu gpu(driver_, 3);
    ADD_FAILURE() << "there is no such GPU";
  } catch (const metal::EnvironmentError& error) {
    EXPECT_STREQ(error.what(), "there is no GPU 3: the CUDA driver finds 1");
  }
}

TEST_F(CudaGpu, TheDriverMayNotStart) {
  EXPECT_CALL(driver_, initialise()).WillOnce(Return(Status::no_device));
  try {
    const Gpu gpu(driver_, 0);
    ADD_FAILURE() << "the driver does not start";
  } catch (const metal::EnvironmentError& error) {
    EXPECT_STREQ(error.what(), "the CUDA driver does not start: CUDA_ERROR_100");
  }
}

TEST_F(CudaGpu, SaysWhatItIs) {
  EXPECT_EQ(describe_gpus(driver_).at(0).to_string(), "Mock 100, compute capability 9.0, 81920 MiB, driver for CUDA 13.0");
}

// Pages that the host has never touched are not made by a copy to the GPU or back.
TEST_F(CudaGpu, LargeBuffersMayBeSparse) {
  const std::size_t size = std::size_t{128} << 20;
  const auto sparse = metal::Buffer::sparse(size, "cache");
  sparse->bytes()[5] = std::byte{7};
  sparse->bytes()[size - 1] = std::byte{8};
  driver_.behave([](const std::string&, const Launch& launch, const LaunchShape&) {
    auto* bytes = static_cast<std::uint8_t*>(MockDriver::pointer(launch.buffers[0]));
    EXPECT_EQ(bytes[5], 7);
    EXPECT_EQ(bytes[6], 0);
    EXPECT_EQ(bytes[size / 2], 0);
    EXPECT_EQ(bytes[size - 1], 8);
    bytes[size / 2] = 9;
    return Status::success;
  });
  Work work = work_of();
  work.dispatches.front().arguments.front().offset = 0;
  const std::array buffers = {HostBuffer{sparse->device_address(), size, "cache", false}};
  Gpu gpu(driver_, 0);
  EXPECT_THAT(gpu.run(work, buffers, std::chrono::seconds(60)).hazards, IsEmpty());
  EXPECT_EQ(sparse->bytes()[size / 2], std::byte{9});
  EXPECT_EQ(sparse->bytes()[5], std::byte{7});
}

// Only what the host has touched or the kernel has written to.
TEST_F(CudaGpu, FewBytesOfALargeBufferAreCopiedBack) {
  const std::size_t size = Arena::kLarge + 1000;
  const auto sparse = metal::Buffer::sparse(size, "cache");
  const std::size_t written[] = {3, metal::cuda::ZeroScan::kPiece * 5 - 1, size - 1};
  driver_.behave([&](const std::string&, const Launch& launch, const LaunchShape&) {
    for (const std::size_t at : written) static_cast<std::uint8_t*>(MockDriver::pointer(launch.buffers[0]))[at] = 9;
    return Status::success;
  });
  std::size_t copied = 0;
  ON_CALL(driver_, copy_out).WillByDefault([&](void* to, Address from, std::size_t bytes) {
    copied += bytes;
    return std::memcpy(to, MockDriver::pointer(from), bytes), Status::success;
  });
  Work work = work_of();
  work.dispatches.front().arguments.front().offset = 0;
  const std::array buffers = {HostBuffer{sparse->device_address(), size, "cache", false}};
  Gpu gpu(driver_, 0);
  EXPECT_THAT(gpu.run(work, buffers, std::chrono::seconds(60)).hazards, IsEmpty());
  for (const std::size_t at : written) EXPECT_EQ(sparse->bytes()[at], std::byte{9}) << at;
  EXPECT_LT(copied, size / 16);
}

// Copying gigabytes back takes seconds, and a kernel cannot write through a const argument.
TEST_F(CudaGpu, LargeConstantBuffersStayThere) {
  const std::size_t size = Arena::kLarge;
  for (const bool is_constant : {true, false}) {
    const auto sparse = metal::Buffer::sparse(size, "cache");
    driver_.behave([](const std::string&, const Launch& launch, const LaunchShape&) {
      static_cast<std::uint8_t*>(MockDriver::pointer(launch.buffers[0]))[7] = 9;
      return Status::success;
    });
    Work work = work_of();
    work.dispatches.front().arguments.front().offset = 0;
    const std::array buffers = {HostBuffer{sparse->device_address(), size, "cache", is_constant}};
    Gpu gpu(driver_, 0);
    EXPECT_THAT(gpu.run(work, buffers, std::chrono::seconds(60)).hazards, IsEmpty());
    EXPECT_EQ(sparse->bytes()[7], std::byte{static_cast<unsigned char>(is_constant ? 0 : 9)});
  }
}

}  // namespace
}  // namespace assay::tests::cuda_gpu_test
