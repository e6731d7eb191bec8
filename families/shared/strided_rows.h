// Inputs whose rows, heads and batches have gaps between them, as buffers of a job.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "families/job.h"
#include "families/shared/dense_launch.h"

namespace assay::families {

// A cache [heads, capacity] of slots, of which the first `filled` of each head contain data.
struct CacheShape {
  std::size_t heads = 0;
  std::size_t capacity = 0;
  std::size_t filled = 0;
};

// `bytes` contain all slots, and must outlive the job. Slots behind the filled ones stay pages of zeros that use no memory.
[[nodiscard]] JobBuffer cache_buffer(std::string_view argument, std::span<const std::byte> bytes, const CacheShape& shape);

// A tensor [batches, heads, rows] of rows of `row_bytes`, and the strides between them.
struct StridedLayout {
  std::size_t batches = 0;
  std::size_t heads = 0;
  std::size_t rows = 0;
  std::size_t row_bytes = 0;
  RowStrides strides;
  std::size_t rows_behind = 0;  // room behind the last row of every head, including the last one
  bool is_sparse = false;       // whether gaps and room are zeros that use no memory, instead of poison

  // Bytes up to the end of the last row, or of the room behind it.
  [[nodiscard]] std::size_t size() const;
};

// `rows` are adjacent and must outlive the job. Throws std::invalid_argument if their number differs from the layout's.
[[nodiscard]] JobBuffer strided_buffer(std::string_view argument, std::span<const std::byte> rows, const StridedLayout& layout);

}  // namespace assay::families
