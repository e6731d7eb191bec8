// The compute encoder that launch code drives: Metal's encoding calls as a pure C++ interface.
//
// Launch code (families/) sees only this header and argument_layout.h. Tests mock the interface and the simulator (simulator.h)
// implements it; an implementation over Apple's metal-cpp is possible too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "metal/buffer.h"
#include "metal/pipeline_descriptor.h"
#include "metal/size3.h"

namespace assay::metal {

// Encodes dispatches. As in Metal, state (pipeline, bindings, threadgroup lengths) persists from one dispatch to the next. Misuse (an
// index out of range, a length that Metal forbids, an argument left unbound) throws EncodeError from the first call that can detect it.
class ComputeEncoder {
 public:
  ComputeEncoder() = default;
  ComputeEncoder(const ComputeEncoder&) = delete;
  ComputeEncoder& operator=(const ComputeEncoder&) = delete;
  virtual ~ComputeEncoder() = default;

  virtual void set_pipeline(const PipelineDescriptor& pipeline) = 0;

  // Binds a view of a buffer to `[[buffer(index)]]`, index 0..30. The buffer must outlive the dispatches that use it.
  virtual void set_buffer(std::uint32_t index, BufferView view) = 0;

  // Copies at most 4,096 bytes into `[[buffer(index)]]`. Only an argument through which the kernel cannot write may use them.
  virtual void set_bytes(std::uint32_t index, std::span<const std::byte> bytes) = 0;

  // Reserves threadgroup memory for `[[threadgroup(index)]]`; `bytes` must be a multiple of 16.
  virtual void set_threadgroup_memory_length(std::uint32_t index, std::size_t bytes) = 0;

  // Orders all earlier dispatches before all later ones (buffer scope).
  virtual void memory_barrier() = 0;

  virtual void dispatch_threadgroups(Size3 threadgroups, Size3 threads_per_threadgroup) = 0;

  // As Metal's dispatchThreads: the last threadgroup along an axis may be smaller than the others.
  virtual void dispatch_threads(Size3 threads, Size3 threads_per_threadgroup) = 0;
};

}  // namespace assay::metal
