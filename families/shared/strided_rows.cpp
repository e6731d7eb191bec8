// Inputs whose rows, heads and batches have gaps between them, as buffers of a job.
#include "families/shared/strided_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace assay::families {

JobBuffer cache_buffer(std::string_view argument, std::span<const std::byte> bytes, const CacheShape& shape) {
  if (shape.filled >= shape.capacity) return input_buffer(argument, bytes);
  JobBuffer buffer{.argument = argument, .size = bytes.size(), .gap = Gap::untouched};
  const std::size_t head_bytes = bytes.size() / shape.heads;
  const std::size_t filled_bytes = head_bytes / shape.capacity * shape.filled;
  for (std::size_t head = 0; head < shape.heads; ++head)
    buffer.contents.push_back({head * head_bytes, bytes.subspan(head * head_bytes, filled_bytes)});
  return buffer;
}

std::size_t StridedLayout::size() const {
  return (batches - 1) * strides.batch + (heads - 1) * strides.head + (rows - 1) * strides.token + row_bytes + rows_behind * strides.token;
}

JobBuffer strided_buffer(std::string_view argument, std::span<const std::byte> rows, const StridedLayout& layout) {
  const std::size_t needed = layout.batches * layout.heads * layout.rows * layout.row_bytes;
  if (rows.size() != needed)
    throw std::invalid_argument(fmt::format("{}: {} bytes of rows, the layout has {}", argument, rows.size(), needed));
  JobBuffer buffer{.argument = argument, .size = layout.size(), .gap = layout.is_sparse ? Gap::untouched : Gap::forbidden};
  const bool is_dense = layout.strides.token == layout.row_bytes;
  const std::size_t piece_bytes = is_dense ? layout.rows * layout.row_bytes : layout.row_bytes;
  std::size_t at = 0;
  for (std::size_t batch = 0; batch < layout.batches; ++batch) {
    for (std::size_t head = 0; head < layout.heads; ++head) {
      for (std::size_t row = 0; row < (is_dense ? 1 : layout.rows); ++row, at += piece_bytes) {
        const std::size_t first = batch * layout.strides.batch + head * layout.strides.head + row * layout.strides.token;
        buffer.contents.push_back({first, rows.subspan(at, piece_bytes)});
      }
    }
  }
  // With some strides, heads lie between tokens.
  std::ranges::sort(buffer.contents, {}, &Piece::at);
  return buffer;
}

}  // namespace assay::families
