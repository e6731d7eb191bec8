// Exact attention over keys and values stored in bfloat, many queries with an additive mask, with a bound for every output element.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "oracles/attention.h"
#include "oracles/expected.h"

namespace assay::oracles {

struct DenseShape {
  std::size_t batches = 0;       // B
  std::size_t heads = 0;         // H
  std::size_t kv_heads = 0;      // G, divides H; query head h reads key/value head h / (H / G)
  std::size_t queries = 0;       // nq
  std::size_t kv_len = 0;        // n
  std::size_t head_rows = 0;     // rows from one key/value head to the next, >= n: a cache with room behind the last key
  std::size_t head_dim = 512;    // D
  std::size_t mask_heads = 0;    // H', divides H; 0 for no mask
  std::size_t mask_batches = 0;  // B', divides B; 0 for no mask
  float scale = 1.0F;
  float softcap = 0.0F;  // a score s becomes softcap tanh(s / softcap) before the mask is added; 0: none
};

// A mask value up to here makes its key invisible; anything above is added to the score.
inline constexpr double kInvisibleMask = -32752.0;

struct DenseTensors {
  std::span<const float> q;  // [B, H, nq, D]; rounded to bfloat here, as the kernels do (or have it already), but not without_conversions()
  std::span<const std::uint16_t> k;     // bfloat bits [B, G, head_rows, D]; rows from kv_len on are never looked at
  std::span<const std::uint16_t> v;     // likewise
  std::span<const std::uint16_t> mask;  // half bits [B', H', nq, n]; batch b and head h use b mod B' and h mod H'
};

// Output [B, H, nq, D]; a row that sees no key is an exact 0. `accuracy.output` is what the kernel stores, bfloat as a rule. Throws
// std::invalid_argument with the offending values if shape and spans do not fit together, or if a q, a key, a value (visible
// or not) or a visible mask value is not finite.
[[nodiscard]] Expected dense_attention(const DenseShape& shape, const DenseTensors& tensors, const AttentionAccuracy& accuracy);

}  // namespace assay::oracles
