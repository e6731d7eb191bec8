#include "harness/run/strided_buffer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include "harness/run/cache_buffer.h"
#include "metal/guarded_memory.h"

namespace assay::harness {
namespace {

// Buffers are poisoned from their first byte on.
bool is_poison(std::span<const std::byte> bytes, std::size_t first) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] != static_cast<std::byte>(metal::kReadPoisonWord >> ((first + i) % sizeof metal::kReadPoisonWord * 8))) return false;
  }
  return true;
}

}  // namespace

std::size_t StridedLayout::size() const {
  return (batches - 1) * strides.batch + (heads - 1) * strides.head + (rows - 1) * strides.token + row_bytes + rows_behind * strides.token;
}

template <typename F>
void StridedBuffer::for_each_piece(F f) const {
  struct Piece {
    std::size_t first;
    std::span<const std::byte> source;
  };
  const bool is_dense = layout_.strides.token == layout_.row_bytes;
  const std::size_t piece_bytes = is_dense ? layout_.rows * layout_.row_bytes : layout_.row_bytes;
  std::vector<Piece> pieces;
  std::size_t at = 0;
  for (std::size_t batch = 0; batch < layout_.batches; ++batch) {
    for (std::size_t head = 0; head < layout_.heads; ++head) {
      for (std::size_t row = 0; row < (is_dense ? 1 : layout_.rows); ++row, at += piece_bytes) {
        const std::size_t first = batch * layout_.strides.batch + head * layout_.strides.head + row * layout_.strides.token;
        pieces.push_back({first, rows_.subspan(at, piece_bytes)});
      }
    }
  }
  // Heads may stand between tokens.
  std::ranges::sort(pieces, {}, &Piece::first);
  for (const Piece& piece : pieces) f(piece.first, piece.source);
}

StridedBuffer::StridedBuffer(std::span<const std::byte> rows, const StridedLayout& layout, std::string label)
    : rows_(rows), layout_(layout) {
  const std::size_t needed = layout.batches * layout.heads * layout.rows * layout.row_bytes;
  if (rows.size() != needed)
    throw std::invalid_argument(fmt::format("{}: {} bytes of rows, but the layout needs {}", label, rows.size(), needed));
  buffer_ = layout.is_sparse ? metal::Buffer::sparse(layout.size(), std::move(label))
                             : std::make_unique<metal::Buffer>(layout.size(), std::move(label));
  if (!layout.is_sparse) buffer_->poison(metal::kReadPoisonWord);
  for_each_piece([&](std::size_t first, std::span<const std::byte> source) {
    std::memcpy(buffer_->bytes().data() + first, source.data(), source.size());
  });
}

bool StridedBuffer::holds_still() const {
  const std::span<const std::byte> bytes = std::as_const(*buffer_).bytes();
  const auto gap_holds = [&](std::size_t from, std::size_t to) {
    const std::span<const std::byte> gap = bytes.subspan(from, to - from);
    return layout_.is_sparse ? is_untouched(gap) : is_poison(gap, from);
  };
  bool holds = true;
  std::size_t end = 0;
  for_each_piece([&](std::size_t first, std::span<const std::byte> source) {
    holds = holds && gap_holds(end, first) && std::memcmp(bytes.data() + first, source.data(), source.size()) == 0;
    end = first + source.size();
  });
  return holds && gap_holds(end, bytes.size());
}

}  // namespace assay::harness
