// Where the shadows of numbers in memory are kept (lane_abi.h): one reservation of address space for the whole process, of which only
// what kernels write takes room.
#pragma once

#include <cstddef>
#include <cstdint>

#include "metal/lane_abi.h"

namespace assay::metal::execute {

class ShadowCells {
 public:
  // Reserves them when it is first asked; throws EnvironmentError if the system does not give the room.
  static ShadowCells& instance();

  [[nodiscard]] abi::Cell* data() const { return cells_; }
  // What the number at an address would be without rounding: the number itself if nobody has said.
  [[nodiscard]] double read(const void* address, abi::FloatType type) const;
  // Says it of the number that is there now.
  void write(const void* address, abi::FloatType type, double shadow);
  // Behind a copy of memory, or before it; the ranges do not overlap.
  void copy(const void* destination, const void* source, std::size_t bytes);
  // Forgets what is known of whole pages, which hold the range and nothing else that matters.
  void forget(const void* first, std::size_t bytes);

 private:
  ShadowCells();
  [[nodiscard]] abi::Cell& at(const void* address) const {
    return cells_[(reinterpret_cast<std::uintptr_t>(address) & (abi::kCellWindow - 1)) / abi::kCellGranule];
  }
  abi::Cell* cells_ = nullptr;
};

// The number at an address, widened.
[[nodiscard]] double number_at(const void* address, abi::FloatType type);
[[nodiscard]] constexpr std::size_t bytes_of(abi::FloatType type) { return type == abi::kFloat ? 4 : 2; }

}  // namespace assay::metal::execute
