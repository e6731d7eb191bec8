// Memory between pages that nobody may touch, so that an overrun is a fault and not a neighbour's loss.
#pragma once

#include <cstddef>

namespace assay::metal {

// `size` bytes whose end (rounded up to 64 bytes) is the end of their last page. Neither copyable nor movable.
class GuardedMemory {
 public:
  // On both sides; an access that misses by more may meet other memory of the process.
  static constexpr std::size_t kGuardBytes = std::size_t{4} << 20;
  static constexpr std::size_t kAlignment = 64;

  // Throws std::bad_alloc if there is no address space left.
  explicit GuardedMemory(std::size_t size);
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;
  ~GuardedMemory();

  [[nodiscard]] std::byte* data() const { return data_; }

 private:
  std::byte* mapping_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  std::byte* data_ = nullptr;
};

}  // namespace assay::metal
