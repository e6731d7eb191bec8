// Memory of a GPU in which every block lies between poisoned guards.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "metal/devices/cuda/driver.h"
#include "metal/devices/cuda/zero_scan.h"

namespace assay::metal::cuda {

class Arena {
 public:
  // Bytes on each side of a block. A write that misses by more may hit another block.
  static constexpr std::size_t kGuardBytes = std::size_t{64} << 10;
  // Smaller blocks are copied as a whole.
  static constexpr std::size_t kLarge = std::size_t{64} << 20;
  // A block begins at a multiple of it, as memory of the driver does.
  static constexpr std::size_t kAlignment = 256;

  explicit Arena(Driver& driver) : driver_(driver), zero_scan_(driver) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  // Lays out blocks of these sizes and poisons all of them and their guards. Earlier blocks are gone.
  [[nodiscard]] Status lay_out(std::span<const std::size_t> sizes);
  [[nodiscard]] Address address(std::size_t block) const { return base_ + blocks_[block].first; }

  // Copies a whole block. Pages of a large one that the host has never touched count as zeros and stay untouched, unless a kernel wrote
  // there. Small blocks travel together: to the GPU with send(), and with fetch() back.
  [[nodiscard]] Status copy_in(std::size_t block, std::span<const std::byte> bytes);
  [[nodiscard]] Status send();
  [[nodiscard]] Status fetch();
  [[nodiscard]] Status copy_out(std::size_t block, std::span<std::byte> bytes);

  // After fetch(): the side on which the guard of a block is no longer poisoned: "before" or "behind".
  [[nodiscard]] Status find_stray_write(std::size_t block, std::optional<std::string_view>& side);

  // Gives everything back. Not for memory of a context that is lost.
  void release();
  // Gives back what is too large to be kept while others want memory of the GPU.
  void trim();

 private:
  struct Block {
    std::size_t first = 0, size = 0;  // in bytes from base_
  };
  [[nodiscard]] Status reserve(std::size_t bytes);
  [[nodiscard]] Status copy_changes_out(std::size_t block, std::span<std::byte> bytes);
  [[nodiscard]] Status check_guard(std::size_t first, std::size_t last, bool& is_intact);

  Driver& driver_;
  ZeroScan zero_scan_;
  Address base_ = 0;
  std::size_t reserved_ = 0;
  std::vector<Block> blocks_;
  std::size_t flags_ = 0;  // in bytes from base_: room for ZeroScan, behind blocks that do not travel together
  // All blocks and guards as the host has them, if they are small: processes that share a GPU wait for each other with every call of the
  // driver, so two copies of all are faster than dozens of small ones. Empty: each block is copied by itself.
  std::vector<std::byte> image_;
};

}  // namespace assay::metal::cuda
