// The bindings of a simulated encoder, by index, and Metal's rules for them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "metal/argument_layout.h"
#include "metal/buffer.h"
#include "metal/guarded_memory.h"
#include "metal/hazard.h"
#include "metal/lane_abi.h"

namespace assay::metal::devices {

struct Binding {
  BufferView view;
  std::uint64_t buffer_id = 0;
  std::unique_ptr<GuardedMemory> bytes;  // of set_bytes: between guards, so that an overrun does not reach other memory of this process
  bool is_set = false;
  bool bound = false;  // set, and an argument of the current dispatch's kernel
  bool is_bytes = false;

  [[nodiscard]] std::byte* data() const { return is_bytes ? bytes->data() : view.buffer->device_address() + view.offset; }
  [[nodiscard]] std::size_t size() const { return is_bytes ? bytes->size() : view.size(); }
  // Null for bytes and for unbound arguments.
  [[nodiscard]] Buffer* buffer() const { return bound && !is_bytes ? view.buffer : nullptr; }
  // Whether launch code binds it only because Metal requires a binding: the kernel must not access it.
  [[nodiscard]] bool is_placeholder() const { return !is_bytes && view.needed == std::size_t{0}; }
};

class Bindings {
 public:
  // As in ComputeEncoder.
  void set_buffer(std::uint32_t index, BufferView view);
  void set_bytes(std::uint32_t index, std::span<const std::byte> bytes);
  void set_threadgroup_memory_length(std::uint32_t index, std::size_t bytes);

  // Call it at the start of a dispatch of a kernel with these arguments: marks the bindings that the kernel uses as bound. Throws
  // EncodeError if an argument is unbound, its buffer is gone, or the binding does not fit.
  void choose(const ArgumentLayout& layout);

  // Computes the offsets of the threadgroup arguments behind the static variables, by index; unused ones take no space. Returns the
  // bytes of threadgroup memory. Throws EncodeError if that exceeds Metal's limit.
  std::uint32_t place_threadgroup_arguments(const ArgumentLayout& layout, std::span<std::uint32_t> offsets) const;
  [[nodiscard]] const std::array<std::size_t, abi::kMaxBuffers>& threadgroup_lengths() const { return threadgroup_lengths_; }

  // The buffers that the same dispatch may both write and read, one bit each. What it overwrites there is kept, so that a threadgroup can
  // start again.
  [[nodiscard]] std::uint32_t kept_buffers(const abi::Module& module) const;

  // By index.
  [[nodiscard]] const std::array<Binding, abi::kMaxBuffers>& all() const { return bindings_; }
  // The first bound buffer with that label; nullptr if there is none.
  [[nodiscard]] const Binding* labelled(std::string_view label) const;

  // Bindings at offsets that violate their arguments' alignment. Reported here because the pass does not test accesses at multiples of
  // that alignment from the argument's start.
  [[nodiscard]] std::vector<Hazard> misaligned(const abi::Module& module, const ArgumentLayout& layout) const;
  // Writes since the last call outside of a bound buffer that did not reach its guards.
  [[nodiscard]] std::vector<Hazard> take_stray_writes(const ArgumentLayout& layout) const;

 private:
  std::array<Binding, abi::kMaxBuffers> bindings_;
  std::array<std::size_t, abi::kMaxBuffers> threadgroup_lengths_{};
};

}  // namespace assay::metal::devices
