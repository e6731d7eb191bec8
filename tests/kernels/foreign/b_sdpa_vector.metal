// Attention of single queries: one pass over all keys, or two passes with partial results of blocks of keys.
#include <metal_stdlib>
#include <metal_simdgroup>

using namespace metal;

constant bool has_mask [[function_constant(20)]];
constant bool query_transposed [[function_constant(21)]];
constant bool do_causal [[function_constant(22)]];
constant bool bool_mask [[function_constant(23)]];
constant bool float_mask [[function_constant(24)]];
constant bool has_sinks [[function_constant(25)]];
constant int blocks [[function_constant(26)]];

template <typename U>
struct Floor;

#define declare_floor(type)                                                   \
  template <>                                                                 \
  struct Floor<type> {                                                        \
    static constexpr constant type value = metal::numeric_limits<type>::lowest(); \
  };

declare_floor(half);
declare_floor(float);

// A softmax under way: all weights so far are relative to exp(top).
struct Running {
  float top = Floor<float>::value;
  float total = 0.0f;

  // takes a score in; x is what earlier results are to be multiplied with, y the weight of the new one
  METAL_FUNC float2 admit(float score) thread {
    const float before = top;
    top = metal::max(before, score);
    const float2 factors = fast::exp(float2(before, score) - top);
    total = fma(total, factors.x, factors.y);
    return factors;
  }
};

// N neighbours from memory, as floats.
template <int N, typename T>
METAL_FUNC vec<float, N> floats_at(const device T* from) {
  vec<float, N> v;
#pragma unroll
  for (int i = 0; i < N; i++) {
    v[i] = static_cast<float>(from[i]);
  }
  return v;
}

template <typename T, int D, int V = D, int BN = 8>
[[kernel]] void sdpa_vector(
    const device T* queries [[buffer(0)]],
    const device T* keys [[buffer(1)]],
    const device T* values [[buffer(2)]],
    device T* out [[buffer(3)]],
    const constant int& gqa_factor [[buffer(4)]],
    const constant int& N [[buffer(5)]],
    const constant size_t& k_head_stride [[buffer(6)]],
    const constant size_t& k_seq_stride [[buffer(7)]],
    const constant size_t& v_head_stride [[buffer(8)]],
    const constant size_t& v_seq_stride [[buffer(9)]],
    const constant float& scale [[buffer(10)]],
    const device bool* bmask [[buffer(11), function_constant(bool_mask)]],
    const device T* fmask [[buffer(12), function_constant(float_mask)]],
    const constant int& mask_kv_seq_stride [[buffer(13), function_constant(has_mask)]],
    const constant int& mask_q_seq_stride [[buffer(14), function_constant(has_mask)]],
    const constant int& mask_head_stride [[buffer(15), function_constant(has_mask)]],
    const device T* sinks [[buffer(16), function_constant(has_sinks)]],
    const constant int& num_q_heads [[buffer(17), function_constant(has_sinks)]],
    uint3 tid [[threadgroup_position_in_grid]],
    uint3 tpg [[threadgroups_per_grid]],
    uint simd_gid [[simdgroup_index_in_threadgroup]],
    uint simd_lid [[thread_index_in_simdgroup]]) {
  constexpr int in_key = D / 32;
  constexpr int in_value = V / 32;
  threadgroup float2 states[BN]; // maximum and sum
  threadgroup float weighted[BN][V];

  const int head = tid.x, position = tid.y;
  const int heads = tpg.x, length = tpg.y;
  const device T* k_head = keys + (head / gqa_factor) * k_head_stride + simd_lid * in_key;
  const device T* v_head = values + (head / gqa_factor) * v_head_stride + simd_lid * in_value;
  const int q_row = query_transposed ? position * heads + head : head * length + position;
  const auto q = scale * floats_at<in_key>(queries + q_row * D + simd_lid * in_key);
  const int mask_at = has_mask ? head * mask_head_stride + position * mask_q_seq_stride : 0;

  thread Running state;
  vec<float, in_value> sum(0.0f);
  if (has_sinks && simd_gid == 0) {
    state.admit(static_cast<float>(sinks[head % num_q_heads]));
  }
  // a simdgroup has every BN-th key, a lane a slice of it and of its value
  const int end = do_causal ? min(N, N - length + position + 1) : N;
  for (int i = simd_gid; i < end; i += BN) {
    float bonus = 0;
    if (bool_mask && !do_causal) {
      if (!bmask[mask_at + i * mask_kv_seq_stride]) {
        continue;
      }
    }
    if (float_mask) {
      bonus = static_cast<float>(fmask[mask_at + i * mask_kv_seq_stride]);
      if (!do_causal && bonus < -1000.0f) { // as good as nothing
        continue;
      }
    }
    const float score = simd_sum(dot(q, floats_at<in_key>(k_head + i * k_seq_stride)));
    const float2 factors = state.admit(score + bonus);
    sum = sum * factors.x + floats_at<in_value>(v_head + i * v_seq_stride) * factors.y;
  }

  for (int j = 0; j < in_value; j++) {
    weighted[simd_gid][simd_lid * in_value + j] = sum[j];
  }
  if (simd_is_first()) {
    states[simd_gid] = float2(state.top, state.total);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  // every thread weighs the simdgroups for itself, and has elements of the result
  float top = Floor<float>::value;
  for (int s = 0; s < BN; s++) {
    top = metal::max(top, states[s].x);
  }
  for (int d = simd_gid * 32 + simd_lid; d < V; d += BN * 32) {
    float above = 0, below = 0;
    for (int s = 0; s < BN; s++) {
      const float share = fast::exp(states[s].x - top);
      above = fma(share, weighted[s][d], above);
      below = fma(share, states[s].y, below);
    }
    out[(head * length + position) * V + d] = static_cast<T>(above / below);
  }
}

// Block b has the keys b, b + blocks, ...; a simdgroup of the group is one of its query heads.
template <typename T, int D, int V = D>
[[kernel]] void sdpa_vector_2pass_1(
    const device T* queries [[buffer(0)]],
    const device T* keys [[buffer(1)]],
    const device T* values [[buffer(2)]],
    device float* out [[buffer(3)]],
    device float* sums [[buffer(4)]],
    device float* maxs [[buffer(5)]],
    const constant int& N [[buffer(7)]],
    const constant size_t& k_head_stride [[buffer(8)]],
    const constant size_t& k_seq_stride [[buffer(9)]],
    const constant size_t& v_head_stride [[buffer(10)]],
    const constant size_t& v_seq_stride [[buffer(11)]],
    const constant float& scale [[buffer(12)]],
    uint3 tptg [[threads_per_threadgroup]],
    uint3 tidtg [[thread_position_in_threadgroup]],
    uint3 tid [[threadgroup_position_in_grid]],
    uint simd_lid [[thread_index_in_simdgroup]]) {
  constexpr int in_key = D / 32;
  constexpr int in_value = V / 32;
  const int kv_head = tid.x;
  const int block = tid.z;
  const int head = kv_head * int(tptg.y) + int(tidtg.y);
  const auto q = scale * floats_at<in_key>(queries + head * D + simd_lid * in_key);
  const device T* k_head = keys + kv_head * k_head_stride + simd_lid * in_key;
  const device T* v_head = values + kv_head * v_head_stride + simd_lid * in_value;

  thread Running state;
  vec<float, in_value> sum(0.0f);
  for (int i = block; i < N; i += blocks) {
    const float2 factors = state.admit(simd_sum(dot(q, floats_at<in_key>(k_head + i * k_seq_stride))));
    sum = sum * factors.x + floats_at<in_value>(v_head + i * v_seq_stride) * factors.y;
  }
  const int slot = head * blocks + block;
  if (simd_is_first()) {
    maxs[slot] = state.top;
    sums[slot] = state.total;
  }
  for (int j = 0; j < in_value; j++) {
    out[slot * V + simd_lid * in_value + j] = sum[j];
  }
}

template <typename T, int D>
[[kernel]] void sdpa_vector_2pass_2(
    const device float* partials [[buffer(0)]],
    const device float* sums [[buffer(1)]],
    const device float* maxs [[buffer(2)]],
    device T* out [[buffer(3)]],
    uint tid [[threadgroup_position_in_grid]],
    uint simd_gid [[simdgroup_index_in_threadgroup]],
    uint n_simd [[simdgroups_per_threadgroup]],
    uint simd_lid [[thread_index_in_simdgroup]]) {
  partials += tid * blocks * D;
  sums += tid * blocks;
  maxs += tid * blocks;

  float max_score = Floor<float>::value;
  for (int b = simd_lid; b < blocks; b += 32) {
    max_score = max(max_score, maxs[b]);
  }
  max_score = simd_max(max_score);
  float sum = 0;
  for (int b = simd_lid; b < blocks; b += 32) {
    sum += fast::exp(maxs[b] - max_score) * sums[b];
  }
  sum = simd_sum(sum);

  for (int d = simd_gid; d < D; d += n_simd) {
    float acc = 0;
    for (int b = simd_lid; b < blocks; b += 32) {
      acc += fast::exp(maxs[b] - max_score) * partials[b * D + d];
    }
    acc = simd_sum(acc);
    if (simd_lid == 0) {
      out[tid * D + d] = static_cast<T>(acc / sum);
    }
  }
}

#define instantiate_as(name, func, ...) \
  template [[host_name(name)]] [[kernel]] decltype(func<__VA_ARGS__>) func<__VA_ARGS__>;

#define instantiate_sdpa_vector(type, qk_dim, value_dim) \
  instantiate_as("sdpa_vector_" #type "_" #qk_dim "_" #value_dim, sdpa_vector, type, qk_dim, value_dim) \
  instantiate_as("sdpa_vector_2pass_1_" #type "_" #qk_dim "_" #value_dim, sdpa_vector_2pass_1, type, qk_dim, value_dim)

#define instantiate_sdpa_vector_heads(type)                                          \
  instantiate_sdpa_vector(type, 64, 64)                                              \
  instantiate_sdpa_vector(type, 128, 64)                                             \
  instantiate_as("sdpa_vector_2pass_2_" #type "_64", sdpa_vector_2pass_2, type, 64)

instantiate_sdpa_vector_heads(float)
instantiate_sdpa_vector_heads(half)
instantiate_sdpa_vector_heads(bfloat)
