// The encoder of a GPU: checks encoding calls by Metal's rules, and makes work of them for the process that has the GPU.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "metal/compile/ptx.h"
#include "metal/devices/bindings.h"
#include "metal/devices/cuda/work.h"
#include "metal/devices/device.h"
#include "metal/devices/encoder.h"
#include "metal/devices/grid.h"

namespace assay::metal {

// How kernels are compiled for a GPU.
[[nodiscard]] compile::PtxOptions ptx_options(const DeviceChoice& device);

namespace cuda {

// A function as the GPU has it, with the arguments that the host sees.
struct CompiledFunction {
  compile::PtxKernel kernel;
  ArgumentLayout layout;
};
// As it is sent to the GPU.
[[nodiscard]] Kernel kernel_of(std::string function, std::string ptx);

// Throws what compile::compile_ptx() and find_pipeline() throw.
using Compile = std::function<CompiledFunction(const PipelineDescriptor&)>;
[[nodiscard]] Compile compile_from(std::vector<std::shared_ptr<Library>> libraries, compile::PtxOptions options);

// The calls throw what Simulator's throw. Nothing is executed: buffers keep what they hold until the work is done.
class Encoder final : public ComputeEncoder {
 public:
  explicit Encoder(Compile compile) : compile_(std::move(compile)) {}

  void set_pipeline(const PipelineDescriptor& pipeline) override;
  void set_buffer(std::uint32_t index, BufferView view) override { bindings_.set_buffer(index, view); }
  void set_bytes(std::uint32_t index, std::span<const std::byte> bytes) override { bindings_.set_bytes(index, bytes); }
  void set_threadgroup_memory_length(std::uint32_t index, std::size_t bytes) override {
    bindings_.set_threadgroup_memory_length(index, bytes);
  }
  // Dispatches are carried out one after the other.
  void memory_barrier() override {}
  void dispatch_threadgroups(Size3 threadgroups, Size3 threads_per_threadgroup) override;
  void dispatch_threads(Size3 threads, Size3 threads_per_threadgroup) override;

  [[nodiscard]] const Work& work() const { return work_; }
  // Those that the dispatches use, in the order of their first use.
  [[nodiscard]] const std::vector<Buffer*>& buffers() const { return buffers_; }
  // Whether every argument that the buffer was bound to is const.
  [[nodiscard]] bool is_constant(const Buffer& buffer) const { return !written_.contains(&buffer); }

 private:
  struct Known {
    CompiledFunction function;
    std::uint64_t number = 0;  // into work().kernels
  };

  void dispatch(const devices::Grid& grid);
  [[nodiscard]] Argument argument_of(std::uint32_t index, const devices::Binding& binding, const ArgumentLayout& layout);

  Compile compile_;
  std::map<PipelineDescriptor, Known> known_;
  const Known* current_ = nullptr;
  devices::Bindings bindings_;
  Work work_;
  std::vector<Buffer*> buffers_;
  std::set<const Buffer*> written_;  // by a kernel, as far as its arguments say
};

}  // namespace cuda
}  // namespace assay::metal
