// A device buffer in host memory, and a view of one. Dispatches bind it, fixtures fill it, and the judge reads it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "metal/guarded_memory.h"

namespace assay::metal {

// `size` bytes, aligned to 64 and guarded on both sides, poisoned when created. Neither copyable nor movable, because views
// point at it.
class Buffer {
 public:
  // In `shared`, which must outlive the buffer, a process that runs kernels has it too.
  explicit Buffer(std::size_t size, std::string label = {}, SharedMemory* shared = nullptr);
  // A buffer of zeros in which only written pages use memory, for buffers of gigabytes that a dispatch accesses sparsely.
  static std::unique_ptr<Buffer> sparse(std::size_t size, std::string label = {}, SharedMemory* shared = nullptr);
  // In the process of a kernel, the buffer that its parent has at device_address() `data`.
  Buffer(std::byte* data, std::size_t size, std::string label, bool host_has_written);
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  // A buffer that holds a copy of `values`.
  template <typename T>
  static std::unique_ptr<Buffer> of(std::span<const T> values, std::string label = {}) {
    auto buffer = std::make_unique<Buffer>(values.size_bytes(), std::move(label));
    if (!values.empty()) std::memcpy(buffer->bytes().data(), values.data(), values.size_bytes());
    return buffer;
  }

  ~Buffer();
  // Whether the buffer with that id() still exists.
  [[nodiscard]] static bool exists(std::uint64_t id);
  // Unique in this process, even after the buffer is destroyed. Code that refers to a buffer for longer than the buffer may exist
  // keeps the id.
  [[nodiscard]] std::uint64_t id() const { return id_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] const std::string& label() const { return label_; }
  [[nodiscard]] std::span<std::byte> bytes() {
    host_has_written_ = true;
    return {memory_.data(), size_};
  }
  [[nodiscard]] std::span<const std::byte> bytes() const { return {memory_.data(), size_}; }

  // The contents as elements of a trivially copyable type, without a tail that is shorter than one element.
  template <typename T>
  [[nodiscard]] std::span<T> as() {
    static_assert(std::is_trivially_copyable_v<T>);
    host_has_written_ = true;
    return {reinterpret_cast<T*>(memory_.data()), size_ / sizeof(T)};
  }
  template <typename T>
  [[nodiscard]] std::span<const T> as() const {
    static_assert(std::is_trivially_copyable_v<T>);
    return {reinterpret_cast<const T*>(memory_.data()), size_ / sizeof(T)};
  }

  // Fills the whole buffer with `word`. The buffer then counts as uninitialised.
  void poison(std::uint32_t word = kPoisonWord);

  // Whether the host may have written the buffer, because it got a writable view. The whole buffer then counts as initialised.
  [[nodiscard]] bool host_has_written() const { return host_has_written_; }
  // The bytes for a kernel's dispatch. Calling this does not count as a write by the host.
  [[nodiscard]] std::byte* device_address() { return memory_.data(); }

  // Where a kernel has written outside of the buffer without reaching the guards: "before" or "behind" it. Resets that state.
  [[nodiscard]] std::optional<std::string_view> take_stray_write();

 private:
  struct Unfilled {};
  Buffer(Unfilled, std::size_t size, std::string label, SharedMemory* shared);

  [[nodiscard]] static std::uint64_t enter();

  std::uint64_t id_ = enter();
  std::size_t size_;
  std::string label_;
  GuardedMemory memory_;
  bool host_has_written_ = false;
};

// A buffer from byte `offset` on. Not owning. Views of the same byte are equal.
struct BufferView {
  Buffer* buffer = nullptr;
  std::size_t offset = 0;
  // Bytes on which the kernel may rely, if the launch code says so. 0: the view is bound only because Metal requires a binding for
  // every argument. Execution ignores this.
  std::optional<std::size_t> needed = std::nullopt;
  // Bytes that the kernel may access, if the host uses the rest of the buffer for something else. Without it: all of them.
  std::optional<std::size_t> limit = std::nullopt;

  [[nodiscard]] std::size_t size() const {
    const std::size_t left = buffer == nullptr || offset > buffer->size() ? 0 : buffer->size() - offset;
    return std::min(left, limit.value_or(left));
  }
  friend bool operator==(const BufferView& a, const BufferView& b) { return a.buffer == b.buffer && a.offset == b.offset; }
};

}  // namespace assay::metal
