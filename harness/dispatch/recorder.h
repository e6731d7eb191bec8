// An encoder that records. It records what the launch code encodes for a case: the contract with which a host's own launch
// code is compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "fixtures/shelf.h"
#include "harness/dispatch/tensors.h"
#include "harness/dispatch/trace.h"
#include "harness/prepare/workbench.h"
#include "metal/argument_layout.h"
#include "metal/devices/encoder.h"

namespace assay::harness {

// One dispatch of the launch code, with the reflection of the kernel's arguments.
struct ContractDispatch {
  TraceDispatch trace;
  metal::ArgumentLayout layout;
  std::map<std::uint32_t, InputLayout> inputs = {};  // by buffer index, of those whose order of elements is known; record_case() adds them
};

// Records every dispatch with the bindings that its function declares. Buffers are named by their labels and start at offset 0,
// wherever the harness placed them between guard bands. Their length is the one that the launch code declares as needed.
class LaunchRecorder final : public metal::ComputeEncoder {
 public:
  // Only accepts functions that were prepared.
  explicit LaunchRecorder(const PreparedVariant& prepared) : prepared_(prepared) {}

  void set_pipeline(const metal::PipelineDescriptor& pipeline) override;
  void set_buffer(std::uint32_t index, metal::BufferView view) override;
  void set_bytes(std::uint32_t index, std::span<const std::byte> bytes) override;
  void set_threadgroup_memory_length(std::uint32_t index, std::size_t bytes) override;
  void memory_barrier() override;
  void dispatch_threadgroups(metal::Size3 threadgroups, metal::Size3 threads_per_threadgroup) override;
  void dispatch_threads(metal::Size3 threads, metal::Size3 threads_per_threadgroup) override;

  [[nodiscard]] const std::vector<ContractDispatch>& dispatches() const { return dispatches_; }
  // The buffers of each dispatch by index; valid as long as the caller of encode keeps them.
  [[nodiscard]] const std::vector<std::map<std::uint32_t, metal::BufferView>>& views() const { return views_; }

 private:
  void add(metal::Size3 grid, metal::Size3 threads_per_threadgroup, bool counts_threads);

  const PreparedVariant& prepared_;
  metal::PipelineDescriptor pipeline_;
  metal::ArgumentLayout layout_;
  std::map<std::uint32_t, metal::BufferView> buffers_;
  std::map<std::uint32_t, std::vector<std::byte>> bytes_;
  std::map<std::uint32_t, std::uint64_t> threadgroup_memory_;
  bool after_barrier_ = false;
  std::vector<ContractDispatch> dispatches_;
  std::vector<std::map<std::uint32_t, metal::BufferView>> views_;
};

// Records what the launch code encodes for a case; executes nothing. Throws what encode_case() throws.
[[nodiscard]] std::vector<ContractDispatch> record_case(const PreparedVariant& prepared, const Case& test_case,
                                                        const fixtures::Shelf& shelf);

}  // namespace assay::harness
