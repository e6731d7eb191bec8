// The device buffer of a tensor whose rows, heads and batches do not stand as close as they could. Internal to harness/run.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "families/shared/dense_launch.h"
#include "metal/buffer.h"

namespace assay::harness {

// A tensor [batches, heads, rows] of rows of `row_bytes`, and where each of them stands.
struct StridedLayout {
  std::size_t batches = 0;
  std::size_t heads = 0;
  std::size_t rows = 0;
  std::size_t row_bytes = 0;
  families::RowStrides strides;
  std::size_t rows_behind = 0;  // behind the last row of every head, the very last included: more memory without data of its own
  bool is_sparse = false;       // what lies between and behind is zero and untouched, in place of poison

  // Up to the end of the last row, or of the rows behind it.
  [[nodiscard]] std::size_t size() const;
};

// A copy of rows that follow each other without gaps. What lies between them on the device is poison, so that reading it shows.
class StridedBuffer {
 public:
  // `rows` must outlive this. Throws std::invalid_argument if they are not as many as the layout says.
  StridedBuffer(std::span<const std::byte> rows, const StridedLayout& layout, std::string label);

  [[nodiscard]] metal::Buffer* get() const { return buffer_.get(); }
  // Whether every byte, between the rows as well, is what it was; touches no page of a sparse buffer that nobody touched.
  [[nodiscard]] bool holds_still() const;

 private:
  // f(first byte on the device, bytes of the source) for pieces without gaps, in the order in which they stand on the device.
  template <typename F>
  void for_each_piece(F f) const;

  std::span<const std::byte> rows_;
  StridedLayout layout_;
  std::unique_ptr<metal::Buffer> buffer_;
};

}  // namespace assay::harness
