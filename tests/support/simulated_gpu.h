// A GPU whose kernels the simulator executes, so that whole cases run without a GPU.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/prepare/workbench.h"
#include "metal/buffer.h"
#include "metal/compile/ptx.h"
#include "metal/devices/pipelines.h"
#include "metal/devices/simulator.h"
#include "tests/support/mock_driver.h"

namespace assay::tests {

// A kernel for MockDriver::behave(). Knows the code of every function of the prepared variant, which must outlive it.
class SimulatedGpu {
 public:
  explicit SimulatedGpu(const harness::PreparedVariant& prepared, const metal::compile::PtxOptions& options = {})
      : libraries_(prepared.libraries) {
    for (const auto& [key, kernel] : prepared.kernels) add(kernel.entry().pipeline, options);
    for (const auto& [family, helpers] : prepared.helpers) {
      for (const auto& [key, kernel] : helpers.kernels) add(kernel.entry().pipeline, options);
    }
  }

  // `memory_end`: where the memory of the device ends that the kernel's buffers are in.
  metal::cuda::Status operator()(const std::string& ptx, const metal::cuda_abi::Launch& launch, const metal::cuda::LaunchShape& shape,
                                 std::uint64_t memory_end) const {
    const auto& [descriptor, pipeline] = functions_.at(ptx);
    metal::Simulator simulator(libraries_);
    simulator.set_pipeline(descriptor);
    std::vector<std::unique_ptr<Copy>> copies;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> threadgroup;  // offset, index
    for (const metal::BoundArgument& argument : pipeline->layout().arguments) {
      if (argument.space == metal::AddressSpace::threadgroup) {
        threadgroup.emplace_back(launch.threadgroup_arguments[argument.index], argument.index);
        continue;
      }
      copies.push_back(std::make_unique<Copy>(launch.buffers[argument.index], memory_end));
      simulator.set_buffer(argument.index, {copies.back()->buffer.get()});
    }
    std::ranges::sort(threadgroup);
    for (std::size_t i = 0; i < threadgroup.size(); ++i) {
      const std::uint32_t end = i + 1 < threadgroup.size() ? threadgroup[i + 1].first : shape.shared_bytes;
      simulator.set_threadgroup_memory_length(threadgroup[i].second, end - threadgroup[i].first);
    }
    simulator.dispatch_threads({launch.total[0], launch.total[1], launch.total[2]},
                               {launch.threads[0], launch.threads[1], launch.threads[2]});
    for (const auto& copy : copies) copy->give_back();
    return simulator.hazards().empty() ? metal::cuda::Status::success : metal::cuda::Status::illegal_address;
  }

 private:
  // Everything from an address of the device on. What did not change is not given back, because copies overlap.
  struct Copy {
    Copy(std::uint64_t from, std::uint64_t end) : address(from), before(end - from) {
      std::memcpy(before.data(), MockDriver::pointer(from), before.size());
      buffer = metal::Buffer::of(std::span<const std::byte>(before));
    }
    void give_back() const {
      const std::span<const std::byte> after = std::as_const(*buffer).bytes();
      for (std::size_t i = 0; i < before.size(); ++i) {
        if (after[i] != before[i]) static_cast<std::byte*>(MockDriver::pointer(address))[i] = after[i];
      }
    }

    std::uint64_t address;
    std::vector<std::byte> before;
    std::unique_ptr<metal::Buffer> buffer;
  };

  void add(const metal::PipelineDescriptor& descriptor, const metal::compile::PtxOptions& options) {
    auto pipeline = metal::find_pipeline(libraries_, descriptor, {});
    metal::load_code(*pipeline);  // the process of a GPU cannot
    functions_.emplace(metal::compile::compile_ptx(libraries_, descriptor, options).text, std::pair(descriptor, std::move(pipeline)));
  }

  std::vector<std::shared_ptr<metal::Library>> libraries_;
  std::map<std::string, std::pair<metal::PipelineDescriptor, std::shared_ptr<const metal::Pipeline>>> functions_;
};

}  // namespace assay::tests
