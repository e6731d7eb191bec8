// An attention kernel for the tq4 contract that shares nothing with tq4_v1 but the contract: keys one at a time, the
// accumulator in registers, the score normalised after the sum, fields in another order, two fields of its own.
#include <metal_stdlib>

using namespace metal;

// Order and types differ from tq4_v1; `tile` (positions visited together) and `temperature` (of the query) are not known to
// the family.
struct Args {
  float scale, softcap;
  uint ring_start, nwg;
  ushort tile;
  uint kv_capacity, kv_seq_len, head_dim, n_kv_heads, n_heads;
  float temperature;
  uint sliding_window, mask_type;
};

constant float kUpperHalf[8] = {0.1283950f, 0.3880483f, 0.6567591f, 0.9423405f, 1.2562312f, 1.6180464f, 2.0690172f, 2.7325896f};

// The codebook is symmetric.
inline float centroid(uint index) { return index < 8 ? -kUpperHalf[7 - index] : kUpperHalf[index - 8]; }

inline uint nibble(device const uchar* row, uint j) { return (j & 1) ? row[j / 2] >> 4 : row[j / 2] & 15; }

struct State {
  float m;
  float s;
};

static bool visible(constant Args& a, uint slot) {
  const uint order = slot >= a.ring_start ? slot - a.ring_start : slot + a.kv_capacity - a.ring_start;
  if (a.mask_type != 2 || a.sliding_window == 0 || a.sliding_window >= a.kv_seq_len) return true;
  return order + a.sliding_window >= a.kv_seq_len;
}

template <uint D>
kernel void decode(device const float* Q, device const uchar* K_packed, device const float* K_norms, device const uchar* V_packed,
                   device const float* V_norms, device float* dst, constant Args& params,
                   uint3 group [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
  const uint head = group.y, w = group.z;
  const uint kv_head = head / (params.n_heads / params.n_kv_heads);
  float q[D / 32], o[D / 32];
  for (uint i = 0; i < D / 32; ++i) {
    q[i] = float(half(Q[head * D + lane + 32 * i])) * params.temperature;
    o[i] = 0;
  }
  State state = {-FLT_MAX / 2, 0};
  const float root = 1.0f / sqrt(float(D));
  for (uint first = w * params.tile; first < params.kv_seq_len; first += params.nwg * params.tile) {
    for (uint slot = first; slot < min(first + params.tile, params.kv_seq_len); ++slot) {
      if (!visible(params, slot)) continue;
      const ulong position = ulong(kv_head) * params.kv_capacity + slot;
      device const uchar* k = K_packed + position * (D / 2);
      device const uchar* v = V_packed + position * (D / 2);
      float product = 0;
      for (uint i = 0; i < D / 32; ++i) product = fma(centroid(nibble(k, lane + 32 * i)), q[i], product);
      const float score = simd_sum(product) * (K_norms[position] * root) * params.scale;
      const float m = max(state.m, score);
      const float keep = precise::exp(state.m - m), weight = precise::exp(score - m);
      state.s = state.s * keep + weight;
      state.m = m;
      const float size = V_norms[position] * root * weight;
      for (uint i = 0; i < D / 32; ++i) o[i] = o[i] * keep + centroid(nibble(v, lane + 32 * i)) * size;
    }
  }
  for (uint i = 0; i < D / 32; ++i) {
    const uint j = lane + 32 * i;
    if (params.nwg == 1) {
      dst[head * D + j] = state.s > 0 ? o[i] / state.s : 0;
    } else {
      dst[((head * (D / 4) + j / 4) * params.nwg + w) * 4 + j % 4] = o[i];
    }
  }
  if (params.nwg > 1 && lane == 0) {
    device float* tail = dst + params.n_heads * D * params.nwg + (head * params.nwg + w) * 2;
    tail[0] = state.s;
    tail[1] = state.m;
  }
}

template [[host_name("decode_tq_256")]] kernel decltype(decode<256>) decode<256>;
template [[host_name("decode_tq_512")]] kernel decltype(decode<512>) decode<512>;
