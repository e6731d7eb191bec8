// How stored indices of codebooks lie in bytes.
#pragma once

#include <concepts>
#include <cstdint>

namespace assay::base {

// Bytes that the indices of so many coordinates take: with 4 bits two share a byte, with more each has one of its own.
[[nodiscard]] constexpr std::uint64_t code_bytes(std::integral auto bits, std::uint64_t coordinates) {
  return bits == 4 ? coordinates / 2 : coordinates;
}

}  // namespace assay::base
