// The shadows of numbers in memory (lane_abi.h): one reservation of address space for the process, of which only written
// parts use memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "metal/lane_abi.h"

namespace assay::metal::execute {

class ShadowCells {
 public:
  // The first call reserves the address space; throws EnvironmentError if the system refuses.
  static ShadowCells& instance();

  [[nodiscard]] abi::Cell* data() const { return cells_; }
  // The number at an address without any rounding; the number itself if it has no shadow.
  [[nodiscard]] double read(const void* address, abi::FloatType type) const;
  // Sets the shadow of the number that is currently at the address.
  void write(const void* address, abi::FloatType type, double shadow);
  // Copies the shadows of a range. Call it before or after the copy of the memory; the ranges must not overlap.
  void copy(const void* destination, const void* source, std::size_t bytes);
  // Drops the shadows of all pages that contain a part of the range.
  void forget(const void* first, std::size_t bytes);

 private:
  ShadowCells();
  [[nodiscard]] abi::Cell& at(const void* address) const {
    return cells_[(reinterpret_cast<std::uintptr_t>(address) & (abi::kCellWindow - 1)) / abi::kCellGranule];
  }
  abi::Cell* cells_ = nullptr;
};

// The number at an address, converted to double.
[[nodiscard]] double number_at(const void* address, abi::FloatType type);
[[nodiscard]] constexpr std::size_t bytes_of(abi::FloatType type) { return type == abi::kFloat ? 4 : 2; }

}  // namespace assay::metal::execute
