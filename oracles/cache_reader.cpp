// Dequantises rows of a cache in double.
#include "oracles/cache_reader.h"

#include <algorithm>
#include <cmath>

#include "base/code_bytes.h"
#include "oracles/codebook.h"

namespace assay::oracles {

namespace {

bool has_blocks(const DecodeShape& shape, NormLayout layout) { return layout == NormLayout::one_per_block && shape.head_dim > 256; }

}  // namespace

std::size_t cache_code_bytes(const DecodeShape& shape, int bits) {
  return shape.kv_heads * shape.kv_capacity * base::code_bytes(bits, shape.head_dim);
}

std::size_t norm_count(const DecodeShape& shape, NormLayout layout) {
  return shape.kv_heads * shape.kv_capacity * (has_blocks(shape, layout) ? shape.head_dim / 256 : 1);
}

CacheReader::CacheReader(const DecodeShape& shape, int bits, NormLayout layout, float scale_factor_d512,
                         std::span<const std::uint8_t> codes, std::span<const float> norms)
    : codes_(codes.data()),
      norms_(norms.data()),
      head_dim_(shape.head_dim),
      capacity_(shape.kv_capacity),
      row_bytes_(base::code_bytes(bits, shape.head_dim)),
      norms_per_position_(has_blocks(shape, layout) ? shape.head_dim / 256 : 1),
      divisor_(has_blocks(shape, layout) ? static_cast<double>(scale_factor_d512) : std::sqrt(static_cast<double>(shape.head_dim))),
      index_mask_(static_cast<std::uint8_t>((1U << bits) - 1U)),
      largest_centroid_(largest_centroid(bits)) {
  const std::span<const float> table = codebook(bits);
  std::copy(table.begin(), table.end(), centroids_.begin());
  if (bits == 4) {
    pairs_.resize(256);
    for (std::size_t byte = 0; byte < 256; ++byte) pairs_[byte] = {centroids_[byte & 0xfU], centroids_[byte >> 4]};
  }
}

double CacheReader::multiplier(std::size_t kv_head, std::size_t slot, std::size_t block) const {
  return static_cast<double>(norms_[(kv_head * capacity_ + slot) * norms_per_position_ + block]) / divisor_;
}

double CacheReader::largest(std::size_t kv_head, std::size_t slot) const {
  double size = 0.0;
  for (std::size_t block = 0; block < norms_per_position_; ++block) {
    const double norm = std::abs(multiplier(kv_head, slot, block));
    if (!(norm <= size)) size = norm;
    if (std::isnan(norm)) return norm;
  }
  return largest_centroid_ * size;
}

void CacheReader::read(std::size_t kv_head, std::span<const std::size_t> slots, double* rows) const {
  const std::size_t block_dim = head_dim_ / norms_per_position_;
  for (const std::size_t slot : slots) {
    const std::uint8_t* row = codes_ + (kv_head * capacity_ + slot) * row_bytes_;
    for (std::size_t block = 0; block < norms_per_position_; ++block) {
      const double scale = multiplier(kv_head, slot, block);
      if (row_bytes_ < head_dim_) {
        const std::uint8_t* bytes = row + block * block_dim / 2;
        for (std::size_t i = 0; i < block_dim / 2; ++i) {
          const std::array<double, 2>& pair = pairs_[bytes[i]];
          rows[2 * i] = pair[0] * scale;
          rows[2 * i + 1] = pair[1] * scale;
        }
      } else {
        const std::uint8_t* bytes = row + block * block_dim;
        for (std::size_t i = 0; i < block_dim; ++i) rows[i] = centroids_[bytes[i] & index_mask_] * scale;
      }
      rows += block_dim;
    }
  }
}

}  // namespace assay::oracles
