// The bytes of one input buffer of family `attention`.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "families/job.h"

namespace assay::families::attention {

// Larger buffers exist only where something is stored, and elsewhere on the device as zeros that use no memory.
inline constexpr std::size_t kLargestDenseBuffer = std::size_t{1} << 28U;

class Memory {
 public:
  explicit Memory(std::size_t size);

  // `length` bytes from byte `offset` on, for storing. Poison until something is stored. Of a large buffer, places either do not overlap
  // or are the same.
  [[nodiscard]] std::span<std::byte> at(std::size_t offset, std::size_t length);

  // Refers to this object.
  [[nodiscard]] JobBuffer buffer(std::string_view name) const;

 private:
  std::size_t size_;
  std::vector<std::byte> dense_;                          // empty for a large buffer
  std::map<std::size_t, std::vector<std::byte>> places_;  // of a large buffer, by offset
};

}  // namespace assay::families::attention
