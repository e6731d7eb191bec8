// The exact values of one position of a cache, and their bounds.
#include "oracles/dequantize.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "oracles/cache_reader.h"
#include "oracles/codebook.h"

namespace assay::oracles {

Expected dequantize(const DequantizeShape& shape, int bits, float scale_factor_d512, std::span<const std::uint8_t> codes,
                    std::span<const float> norms, const ArithmeticProfile& profile) {
  if (shape.head_dim != 256 && shape.head_dim != 512) {
    throw std::invalid_argument(fmt::format("dequantize: head_dim {} is neither 256 nor 512", shape.head_dim));
  }
  if (shape.kv_heads == 0 || shape.position >= shape.kv_capacity) {
    throw std::invalid_argument(
        fmt::format("dequantize: position {} of kv_capacity {}, {} heads", shape.position, shape.kv_capacity, shape.kv_heads));
  }
  DecodeShape cache;
  cache.heads = cache.kv_heads = shape.kv_heads;
  cache.head_dim = shape.head_dim;
  cache.kv_len = cache.kv_capacity = shape.kv_capacity;
  const auto require_size = [](const char* what, std::size_t size, std::size_t needed) {
    if (size != needed)
      throw std::invalid_argument(fmt::format("dequantize: {} has {} elements, but the shape needs {}", what, size, needed));
  };
  (void)codebook(bits);
  require_size("codes", codes.size(), cache_code_bytes(cache, bits));
  require_size("norms", norms.size(), norm_count(cache, NormLayout::one_per_block));
  const bool blocks = shape.head_dim > 256;
  if (blocks && !(scale_factor_d512 > 0.0F && std::isfinite(scale_factor_d512))) {
    throw std::invalid_argument(fmt::format("dequantize: scale_factor_d512 is {}: it must be positive", scale_factor_d512));
  }

  const CacheReader reader(cache, bits, NormLayout::one_per_block, scale_factor_d512, codes, norms);
  const double to_multiplier = blocks ? std::max(profile.divide_error, profile.reciprocal_error + 1.0) : profile.rsqrt_error + 1.0;
  const double relative = gamma(to_multiplier + 1.0);
  // The multiplier may lose eta (its reciprocal as well, scaled by the norm), which the centroid multiplies; then the product.
  const double absolute = profile.eta * (2.0 * largest_centroid(bits) + 1.0);

  Expected expected;
  expected.value.resize(shape.kv_heads * shape.head_dim);
  const std::array slots = {shape.position};
  for (std::size_t g = 0; g < shape.kv_heads; ++g) {
    if (!std::isfinite(reader.largest(g, shape.position))) {
      throw std::invalid_argument(fmt::format("dequantize: a norm of head {} at position {} is not finite", g, shape.position));
    }
    reader.read(g, slots, expected.value.data() + g * shape.head_dim);
  }
  for (const double value : expected.value) {
    expected.bound.push_back(relative * std::abs(value) + absolute);
    expected.magnitude.push_back(std::abs(value));
  }
  return expected;
}

}  // namespace assay::oracles
