// Memory between guard pages, so that an overrun causes a fault and does not damage other memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace assay::metal {

class SharedMemory;

// The 32-bit word that fills new device buffers: a quiet float NaN whose payload no arithmetic produces. Each 16-bit half (0x7fe5) is
// also a NaN of half and a quiet NaN of bfloat.
inline constexpr std::uint32_t kPoisonWord = 0x7fe57fe5u;
// The word for memory that a kernel may read but never should: new threadgroup memory, gaps between the rows of an input, results of
// invalid reads. Arithmetic keeps a NaN's payload. With the same word as above, an output computed from such a value would look as if
// it had never been written.
inline constexpr std::uint32_t kReadPoisonWord = 0x7fd57fd5u;
// The word for margins: a third payload, so that a stray write of either of the others is detected.
inline constexpr std::uint32_t kMarginPoisonWord = 0x7fc57fc5u;

// `size` bytes whose end (rounded up to 64 bytes) is the end of their last page. The rest of the pages on either side is the margin,
// poisoned when created. Neither copyable nor movable.
class GuardedMemory {
 public:
  // On both sides. An access that misses by more may hit other memory of the process.
  static constexpr std::size_t kGuardBytes = std::size_t{4} << 20;
  static constexpr std::size_t kAlignment = 64;

  // In `shared`, which must outlive it, otherwise in memory of its own. In shared memory it is 0 if `zeroed`, otherwise anything, and only
  // the process of a kernel protects the guard pages. Throws std::bad_alloc if there is no address space left.
  explicit GuardedMemory(std::size_t size, SharedMemory* shared = nullptr, bool zeroed = false);
  // For the process of a kernel: the memory that its parent made at `data`. Throws std::bad_alloc.
  GuardedMemory(std::byte* data, std::size_t size);
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;
  ~GuardedMemory();

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }

  void poison(std::uint32_t word = kPoisonWord);  // fills data() with `word`

  // Whether the page at this address is a guard page of any existing GuardedMemory, or belongs to none in the guarded range.
  [[nodiscard]] static bool is_guard(const std::byte* page);
  // For the process of a kernel: nothing in this range may be accessed from now on, except what a GuardedMemory takes over.
  static void guard_range(std::byte* begin, std::size_t bytes);

  // The side on which the margin is no longer poisoned: "before" or "behind".
  [[nodiscard]] std::optional<std::string_view> written_margin() const;
  void poison_margins();

 private:
  void enter_registry();

  SharedMemory* shared_ = nullptr;
  bool is_of_parent_ = false;
  std::byte* mapping_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace assay::metal
