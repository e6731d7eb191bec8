// The device buffers of a cache, filled from a case's inputs: in full, or only where there is something.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "metal/buffer.h"

namespace assay::harness {

// `data` is [heads, row_bytes]; of each row the first `filled_bytes` count, the rest is zero and its pages were never touched.
struct CacheLayout {
  std::size_t heads = 0;
  std::size_t row_bytes = 0;
  std::size_t filled_bytes = 0;

  [[nodiscard]] bool is_sparse() const { return filled_bytes < row_bytes; }
};

// A copy of `data` that takes memory only for what is filled.
[[nodiscard]] std::unique_ptr<metal::Buffer> make_cache_buffer(std::span<const std::byte> data, const CacheLayout& layout,
                                                               std::string label);

// Whether bytes that started as untouched pages of zeros are still zero, without touching them.
[[nodiscard]] bool is_untouched(std::span<const std::byte> bytes);

// Whether the buffer still holds `data`, without touching a page of it that nobody touched.
[[nodiscard]] bool holds_still(const metal::Buffer& buffer, std::span<const std::byte> data, const CacheLayout& layout);

}  // namespace assay::harness
