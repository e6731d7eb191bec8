// Whether a kernel leaves the same bits on an NVIDIA GPU as on the simulator, where ASSAY_TEST_GPU asks for it.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "metal/compile/library.h"
#include "metal/devices/cuda/driver.h"
#include "metal/devices/cuda/encoder.h"
#include "metal/devices/cuda/gpu.h"
#include "metal/errors.h"

namespace assay::tests {

// Encodes a test's dispatches over these buffers.
using EncodeTest = std::function<void(metal::ComputeEncoder&, const std::vector<std::unique_ptr<metal::Buffer>>&)>;

inline bool tests_on_gpu() { return std::getenv("ASSAY_TEST_GPU") != nullptr; }

namespace on_gpu {

// One context for all tests of the process, which a fault loses.
inline metal::cuda::Gpu& gpu() {
  static const std::unique_ptr<metal::cuda::Driver> driver = metal::cuda::load_driver();
  static std::unique_ptr<metal::cuda::Gpu> gpu;
  if (gpu == nullptr || gpu->is_lost()) gpu = std::make_unique<metal::cuda::Gpu>(*driver, 0);
  return *gpu;
}

// Bits of a number are its own but for the payload of NaN, which hardware chooses. The tests' buffers have no types: a word is a float, or
// two halves.
inline bool is_same(std::uint32_t one, std::uint32_t two) {
  const auto is_nan = [](std::uint32_t word) { return (word & 0x7fffffffU) > 0x7f800000U; };
  const auto is_nan16 = [](std::uint32_t half) { return (half & 0x7fffU) > 0x7c00U; };
  const auto is_same16 = [&](std::uint32_t a, std::uint32_t b) { return a == b || (is_nan16(a) && is_nan16(b)); };
  return one == two || (is_nan(one) && is_nan(two)) || (is_same16(one & 0xffffU, two & 0xffffU) && is_same16(one >> 16U, two >> 16U));
}

inline std::string difference(metal::Buffer& expected, metal::Buffer& found, std::size_t number) {
  const auto one = expected.as<std::uint32_t>();
  const auto two = found.as<std::uint32_t>();
  std::string text;
  std::size_t count = 0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    if (is_same(one[i], two[i])) continue;
    if (count++ == 0) text = fmt::format("[{}] is {:#010x} on the simulator and {:#010x} on the GPU", i, one[i], two[i]);
  }
  return count == 0 ? text : fmt::format("{} of {} words differ, the first: buffer {}{}\n", count, one.size(), number, text);
}

}  // namespace on_gpu

// Executes on the first GPU over `fresh`, which hold what the simulator's buffers held before it executed, and compares with `expected`.
inline void expect_same_on_gpu(const std::vector<std::shared_ptr<metal::Library>>& libraries, const EncodeTest& encode,
                               const std::vector<std::unique_ptr<metal::Buffer>>& expected,
                               const std::vector<std::unique_ptr<metal::Buffer>>& fresh) {
  try {
    metal::cuda::Encoder encoder(metal::cuda::compile_from(libraries, metal::ptx_options({.kind = metal::DeviceChoice::Kind::cuda})));
    encode(encoder, fresh);
    std::vector<metal::cuda::HostBuffer> buffers;
    for (metal::Buffer* buffer : encoder.buffers()) buffers.push_back({buffer->device_address(), buffer->size(), buffer->label()});
    constexpr std::chrono::seconds kLimit{20};
    const metal::cuda::WorkReport report = on_gpu::gpu().run(encoder.work(), buffers, kLimit);
    for (const metal::Hazard& hazard : report.hazards) ADD_FAILURE() << "on the GPU: " << hazard.message;
    std::string differences;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (expected[i] != nullptr) differences += on_gpu::difference(*expected[i], *fresh[i], i);
    }
    EXPECT_EQ(differences, "") << "on the GPU";
  } catch (const std::exception& error) {
    ADD_FAILURE() << "on the GPU: " << error.what();
  }
}

}  // namespace assay::tests
