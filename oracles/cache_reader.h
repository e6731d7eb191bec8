// Reads stored positions of a TurboQuant cache as exact numbers. Internal to oracles/.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "oracles/attention.h"

namespace assay::oracles {

// One side (K or V) of a cache. Spans must have the sizes of cache_code_bytes() and norm_count().
class CacheReader {
 public:
  CacheReader(const DecodeShape& shape, int bits, NormLayout layout, float scale_factor_d512, std::span<const std::uint8_t> codes,
              std::span<const float> norms);

  // Writes the D coordinates of each slot, one row after the other, into `rows` [slots.size(), D].
  void read(std::size_t kv_head, std::span<const std::size_t> slots, double* rows) const;

  // An upper bound of |coordinate| over the position, from its norms alone; not finite if a norm is not.
  [[nodiscard]] double largest(std::size_t kv_head, std::size_t slot) const;

 private:
  // The factor on a centroid: norm / sqrt(D), or norm_b / scale_factor_d512.
  [[nodiscard]] double multiplier(std::size_t kv_head, std::size_t slot, std::size_t block) const;

  const std::uint8_t* codes_;
  const float* norms_;
  std::size_t head_dim_, capacity_, row_bytes_, norms_per_position_;
  double divisor_;
  std::uint8_t index_mask_;
  std::array<double, 256> centroids_{};
  std::vector<std::array<double, 2>> pairs_;  // 4 bits: the two centroids of each byte
  double largest_centroid_ = 0.0;
};

}  // namespace assay::oracles
