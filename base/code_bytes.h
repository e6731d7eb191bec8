// The layout of codebook indices in bytes.
#pragma once

#include <concepts>
#include <cstdint>

namespace assay::base {

// The number of bytes for this many indices: with 4 bits two share a byte, with more bits each has its own.
[[nodiscard]] constexpr std::uint64_t code_bytes(std::integral auto bits, std::uint64_t coordinates) {
  return bits == 4 ? coordinates / 2 : coordinates;
}

}  // namespace assay::base
