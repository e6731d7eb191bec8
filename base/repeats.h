// Whether bytes are a pattern over and over.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

namespace assay::base {

// Whether every `period` bytes are the first ones again. The comparison of long texts by the C library is many times as fast as a loop over
// bytes.
[[nodiscard]] inline bool repeats(std::span<const std::byte> bytes, std::size_t period) {
  return bytes.size() <= period || std::memcmp(bytes.data(), bytes.data() + period, bytes.size() - period) == 0;
}

}  // namespace assay::base
