// The scalar loop of decode attention.
#include "tests/bench/scalar_attention.h"

#include <cmath>

namespace assay::tests {

void scalar_attention(const ScalarShape& shape, const float* q, const ScalarCache& cache, float* scores, float* out) {
  const std::size_t dim = shape.head_dim;
  const std::size_t row_bytes = dim / 2;
  const float norm_scale = 1.0F / std::sqrt(static_cast<float>(dim));
  const float* codebook = cache.codebook;

  for (std::size_t head = 0; head < shape.heads; ++head) {
    const std::size_t first = head / (shape.heads / shape.kv_heads) * shape.kv_len;
    const float* query = q + head * dim;
    float* row = out + head * dim;

    float largest = -INFINITY;
    for (std::size_t t = 0; t < shape.kv_len; ++t) {
      const std::uint8_t* codes = cache.k_codes + (first + t) * row_bytes;
      const float factor = cache.k_norms[first + t] * norm_scale;
      float dot = 0.0F;
      for (std::size_t i = 0; i < row_bytes; ++i) {
        dot += codebook[codes[i] & 0xF] * factor * query[2 * i];
        dot += codebook[codes[i] >> 4] * factor * query[2 * i + 1];
      }
      scores[t] = dot * shape.scale;
      if (scores[t] > largest) largest = scores[t];
    }

    float sum = 0.0F;
    for (std::size_t i = 0; i < dim; ++i) row[i] = 0.0F;
    for (std::size_t t = 0; t < shape.kv_len; ++t) {
      const float weight = expf(scores[t] - largest);
      sum += weight;
      const std::uint8_t* codes = cache.v_codes + (first + t) * row_bytes;
      const float factor = cache.v_norms[first + t] * norm_scale * weight;
      for (std::size_t i = 0; i < row_bytes; ++i) {
        row[2 * i] += codebook[codes[i] & 0xF] * factor;
        row[2 * i + 1] += codebook[codes[i] >> 4] * factor;
      }
    }
    for (std::size_t i = 0; i < dim; ++i) row[i] /= sum;
  }
}

std::string_view scalar_attention_flags() {
#ifdef ASSAY_SCALAR_FLAGS
  return ASSAY_SCALAR_FLAGS;
#else
  return {};
#endif
}

}  // namespace assay::tests
