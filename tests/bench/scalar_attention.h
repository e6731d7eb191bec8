// Decode attention over a 4-bit cache as a scalar loop: the reference for the simulator's speed, not an oracle.
//
// Time is only comparable with the flags that tests/CMakeLists.txt gives this file: optimised for this machine, but without
// vectorisation, because the simulator executes each lane as scalar code as well.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace assay::tests {

// One query token per head, every position visible, slot t holds position t.
struct ScalarShape {
  std::size_t heads = 0;     // H
  std::size_t kv_heads = 0;  // G, divides H; query head h reads key/value head h / (H / G)
  std::size_t head_dim = 0;  // D, even
  std::size_t kv_len = 0;    // n >= 1, also the capacity of the cache
  float scale = 1.0F;
};

// The 4-bit cache as stored. codes [G, n, D/2], coordinate 2i in the low nibble of byte i; norms [G, n];
// value = codebook[index] * (norm / sqrt(D)).
struct ScalarCache {
  const float* codebook = nullptr;  // 16 centroids
  const std::uint8_t* k_codes = nullptr;
  const float* k_norms = nullptr;
  const std::uint8_t* v_codes = nullptr;
  const float* v_norms = nullptr;
};

// Writes softmax(scale K q) V to out [H, D], in float throughout, with one expf per head and key. `q` [H, D] is taken as it is:
// the contract's rounding to half is the caller's, once. `scores` is scratch of n floats.
void scalar_attention(const ScalarShape& shape, const float* q, const ScalarCache& cache, float* scores, float* out);

// The flags that make this build of the loop the yardstick; empty if it was built with others, and its time means nothing.
[[nodiscard]] std::string_view scalar_attention_flags();

}  // namespace assay::tests
