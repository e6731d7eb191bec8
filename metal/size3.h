// A size in three dimensions: of a grid or of a threadgroup.
#pragma once

#include <cstdint>

namespace assay::metal {

// Counts along x, y, z: a grid in threadgroups (or threads), or a threadgroup in threads. Every component is >= 1.
struct Size3 {
  std::uint32_t x = 1;
  std::uint32_t y = 1;
  std::uint32_t z = 1;

  [[nodiscard]] std::uint64_t count() const { return std::uint64_t{x} * y * z; }
  friend bool operator==(const Size3&, const Size3&) = default;
};

}  // namespace assay::metal
