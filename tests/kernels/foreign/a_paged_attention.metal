// Attention over a paged cache: keys as [block][kv head][head size / x][slot][x], values as [block][kv head][head size][slot].
#include <metal_stdlib>

using namespace metal;

#define SIMD_SIZE 32
#define DIVIDE_ROUND_UP(a, b) (((a) + (b) - 1) / (b))

constant bool use_partitioning [[function_constant(10)]];
constant bool use_alibi [[function_constant(20)]];

// ---------------------------------------------------------------- vectors of N elements

template <typename T, int N> struct Vec {};
template <typename T> struct Vec<T, 1> { using Type = T; };
template <> struct Vec<float, 2> { using Type = float2; };
template <> struct Vec<float, 4> { using Type = float4; };
template <> struct Vec<half, 4> { using Type = half4; };
template <> struct Vec<bfloat, 4> { using Type = bfloat4; };

struct Half8_ {
  half4 x;
  half4 y;
};
template <> struct Vec<half, 8> { using Type = Half8_; };

struct Bfloat8_ {
  bfloat4 x;
  bfloat4 y;
};
template <> struct Vec<bfloat, 8> { using Type = Bfloat8_; };

struct Char4Scaled_ {
  char4 q;
};
template <> struct Vec<int8_t, 4> { using Type = Char4Scaled_; };

inline float4 to_float4(float4 a) { return a; }
inline float4 to_float4(half4 a) { return float4(a); }
inline float4 to_float4(Char4Scaled_ a) { return float4(a.q); }

template <typename Q, typename K>
inline float dot_one(Q a, K b) {
  return dot(to_float4(a), to_float4(b));
}
template <>
inline float dot_one<Half8_, Half8_>(Half8_ a, Half8_ b) {
  return dot(float4(a.x), float4(b.x)) + dot(float4(a.y), float4(b.y));
}
template <>
inline float dot_one<Bfloat8_, Bfloat8_>(Bfloat8_ a, Bfloat8_ b) {
  return dot(float4(a.x), float4(b.x)) + dot(float4(a.y), float4(b.y));
}

template <typename Q_vec, typename K_vec, int N>
inline float qk_dot_(const threadgroup Q_vec (&q)[N], const thread K_vec (&k)[N]) {
  float qk = dot_one(q[0], k[0]);
#pragma unroll
  for (int ii = 1; ii < N; ++ii) {
    qk += dot_one(q[ii], k[ii]);
  }
  return qk;
}

// the reduction of one value per thread over the threadgroup
struct MaxOp {
  static float simd(float v) { return simd_max(v); }
  static constexpr constant float identity = -MAXFLOAT;
};
struct SumOp {
  static float simd(float v) { return simd_sum(v); }
  static constexpr constant float identity = 0.0f;
};

template <typename Op, int NUM_SIMDS>
inline float block_reduce(threadgroup float *red_smem, float v, uint simd_tid, uint simd_lid) {
  v = Op::simd(v);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (simd_lid == 0) {
    red_smem[simd_tid] = v;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float all = Op::identity;
  if (simd_lid < NUM_SIMDS) {
    all = red_smem[simd_lid];
  }
  return Op::simd(all);
}

template <typename T, typename CACHE_T, int HEAD_SIZE, int BLOCK_SIZE, int NUM_THREADS, int PARTITION_SIZE = 0>
[[kernel]] void paged_attention(
    device float *exp_sums [[buffer(0), function_constant(use_partitioning)]],
    device float *max_logits [[buffer(1), function_constant(use_partitioning)]],
    device T *out [[buffer(2)]],
    device const T *q [[buffer(3)]],
    device const CACHE_T *k_cache [[buffer(4)]],
    device const CACHE_T *v_cache [[buffer(5)]],
    const constant int &num_kv_heads [[buffer(6)]],
    const constant float &scale [[buffer(7)]],
    device const uint32_t *block_tables [[buffer(8)]],
    device const uint32_t *context_lens [[buffer(9)]],
    const constant int &max_num_blocks_per_seq [[buffer(10)]],
    device const float *alibi_slopes [[buffer(11), function_constant(use_alibi)]],
    const constant float2 &kv_scale [[buffer(12)]],
    threadgroup char *shared_mem [[threadgroup(0)]],
    uint3 tgid [[threadgroup_position_in_grid]],
    uint3 tgs [[threadgroups_per_grid]],
    uint3 tid3 [[thread_position_in_threadgroup]],
    uint simd_tid [[simdgroup_index_in_threadgroup]],
    uint simd_lid [[thread_index_in_simdgroup]]) {
  const int seq_idx = tgid.y;
  const int head_idx = tgid.x;
  const int num_heads = tgs.x;
  const int part_idx = tgid.z;
  const int max_parts = tgs.z;
  const int tid = tid3.x;
  constexpr bool USE_PARTITIONING = PARTITION_SIZE > 0;
  const uint context_len = context_lens[seq_idx];
  if (USE_PARTITIONING && part_idx * PARTITION_SIZE >= (int)context_len) {
    return;
  }

  const int num_context_blocks = DIVIDE_ROUND_UP((int)context_len, BLOCK_SIZE);
  const int blocks_per_part = USE_PARTITIONING ? PARTITION_SIZE / BLOCK_SIZE : num_context_blocks;
  const int start_block = USE_PARTITIONING ? part_idx * blocks_per_part : 0;
  const int end_block = min(start_block + blocks_per_part, num_context_blocks);
  const int start_token = start_block * BLOCK_SIZE;
  const int end_token = min(end_block * BLOCK_SIZE, (int)context_len);
  const int num_tokens = end_token - start_token;

  // a group of lanes per token; x elements of a key lie together (16 bytes of T)
  constexpr int GROUP = SIMD_SIZE / BLOCK_SIZE > 0 ? SIMD_SIZE / BLOCK_SIZE : 1;
  constexpr int NUM_SIMDS = NUM_THREADS / SIMD_SIZE;
  constexpr int x = is_same_v<CACHE_T, int8_t> ? 4 : 16 / sizeof(CACHE_T);
  constexpr int VECS = HEAD_SIZE / x;
  constexpr int VECS_PER_THREAD = VECS / GROUP;
  static_assert(VECS % GROUP == 0 && BLOCK_SIZE <= SIMD_SIZE, "lanes divide the head");
  using Q_vec = typename Vec<T, x>::Type;
  using K_vec = typename Vec<CACHE_T, x>::Type;

  threadgroup Q_vec q_vecs[GROUP][VECS_PER_THREAD];
  threadgroup float red_smem[NUM_SIMDS];

  const int kv_head = head_idx / (num_heads / num_kv_heads);
  device const Q_vec *q_ptr = reinterpret_cast<device const Q_vec *>(q + (seq_idx * num_heads + head_idx) * HEAD_SIZE);
  for (int i = tid; i < VECS; i += NUM_THREADS) {
    q_vecs[i % GROUP][i / GROUP] = q_ptr[i];
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);

  threadgroup float *logits = reinterpret_cast<threadgroup float *>(shared_mem);
  device const uint32_t *block_table = block_tables + seq_idx * max_num_blocks_per_seq;
  const int lane_in_group = simd_lid % GROUP;
  const int slot = simd_lid / GROUP;
  float alibi = 0.0f;
  if (use_alibi) {
    alibi = alibi_slopes[head_idx];
  }

  float qk_max = -MAXFLOAT;
  for (int b = start_block + (int)simd_tid; b < end_block; b += NUM_SIMDS) {
    const int64_t physical = static_cast<int64_t>(block_table[b]);
    device const CACHE_T *k_ptr = k_cache + (physical * num_kv_heads + kv_head) * (HEAD_SIZE * BLOCK_SIZE) + slot * x;
    K_vec k_vecs[VECS_PER_THREAD];
#pragma unroll
    for (int j = 0; j < VECS_PER_THREAD; j++) {
      const int vec_idx = lane_in_group + j * GROUP;
      k_vecs[j] = *reinterpret_cast<device const K_vec *>(k_ptr + vec_idx * BLOCK_SIZE * x);
    }
    float qk = qk_dot_<Q_vec, K_vec, VECS_PER_THREAD>(q_vecs[lane_in_group], k_vecs);
#pragma unroll
    for (int mask = GROUP / 2; mask >= 1; mask /= 2) {
      qk += simd_shuffle_xor(qk, mask);
    }
    const int token = b * BLOCK_SIZE + slot;
    qk *= scale * kv_scale.x;
    qk += alibi != 0 ? alibi * (token - (int)context_len + 1) : 0.0f;
    if (lane_in_group == 0 && token < end_token) {
      logits[token - start_token] = qk;
    }
    qk_max = token < end_token ? max(qk_max, qk) : qk_max;
  }
  qk_max = block_reduce<MaxOp, NUM_SIMDS>(red_smem, qk_max, simd_tid, simd_lid);

  float exp_sum = 0.0f;
  for (int i = tid; i < num_tokens; i += NUM_THREADS) {
    const float val = exp(logits[i] - qk_max);
    logits[i] = val;
    exp_sum += val;
  }
  exp_sum = block_reduce<SumOp, NUM_SIMDS>(red_smem, exp_sum, simd_tid, simd_lid);
  threadgroup_barrier(mem_flags::mem_threadgroup);

  if (USE_PARTITIONING && use_partitioning && tid == 0) {
    const int at = (seq_idx * num_heads + head_idx) * max_parts + part_idx;
    max_logits[at] = qk_max;
    exp_sums[at] = exp_sum;
  }

  // values: a simdgroup per row of the head
  const float inv_sum = kv_scale.y / (exp_sum + 1e-20f);
  for (int row = simd_tid; row < HEAD_SIZE; row += NUM_SIMDS) {
    float acc = 0.0f;
    for (int i = simd_lid; i < num_tokens; i += SIMD_SIZE) {
      const int token = start_token + i;
      const int64_t physical = static_cast<int64_t>(block_table[token / BLOCK_SIZE]);
      acc += logits[i] * static_cast<float>(v_cache[((physical * num_kv_heads + kv_head) * HEAD_SIZE + row) * BLOCK_SIZE + token % BLOCK_SIZE]);
    }
    acc = simd_sum(acc);
    if (simd_lid == 0) {
      out[((seq_idx * num_heads + head_idx) * max_parts + part_idx) * HEAD_SIZE + row] = T(acc * inv_sum);
    }
  }
}

template <typename T, int HEAD_SIZE, int NUM_THREADS, int PARTITION_SIZE>
[[kernel]] void paged_attention_reduce(
    device T *out [[buffer(0)]],
    const device float *exp_sums [[buffer(1)]],
    const device float *max_logits [[buffer(2)]],
    const device T *tmp_out [[buffer(3)]],
    device uint32_t *context_lens [[buffer(4)]],
    const constant int &max_num_partitions [[buffer(5)]],
    uint3 tgid [[threadgroup_position_in_grid]],
    uint3 tgs [[threadgroups_per_grid]],
    uint tid [[thread_index_in_threadgroup]]) {
  const int at = tgid.y * tgs.x + tgid.x;
  const int n = DIVIDE_ROUND_UP(context_lens[tgid.y], PARTITION_SIZE);
  threadgroup float weights[32];
  const device float *m = max_logits + at * max_num_partitions;
  float top = m[0];
  for (int i = 1; i < n; ++i) {
    top = fmax(top, m[i]);
  }
  if ((int)tid < n) {
    weights[tid] = exp_sums[at * max_num_partitions + tid] * exp(m[tid] - top);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float sum = 0.0f;
  for (int i = 0; i < n; ++i) {
    sum += weights[i];
  }
  for (int i = tid; i < HEAD_SIZE; i += NUM_THREADS) {
    float acc = 0.0f;
    for (int j = 0; j < n; ++j) {
      acc = fma(float(tmp_out[(at * max_num_partitions + j) * HEAD_SIZE + i]), weights[j], acc);
    }
    out[at * HEAD_SIZE + i] = T(acc / sum);
  }
}

#define instantiate_paged_attention_inner(type, cache_type, head_size, block_size, num_threads, partition_size)        \
  template [[host_name("paged_attention_" #type "_cache_" #cache_type "_hs" #head_size "_bs" #block_size "_nt" #num_threads \
                       "_ps" #partition_size)]] [[kernel]] void                                                        \
  paged_attention<type, cache_type, head_size, block_size, num_threads, partition_size>(                               \
      device float *exp_sums [[buffer(0), function_constant(use_partitioning)]],                                       \
      device float *max_logits [[buffer(1), function_constant(use_partitioning)]],                                     \
      device type *out [[buffer(2)]], device const type *q [[buffer(3)]],                                              \
      device const cache_type *k_cache [[buffer(4)]], device const cache_type *v_cache [[buffer(5)]],                  \
      const constant int &num_kv_heads [[buffer(6)]], const constant float &scale [[buffer(7)]],                       \
      device const uint32_t *block_tables [[buffer(8)]], device const uint32_t *context_lens [[buffer(9)]],            \
      const constant int &max_num_blocks_per_seq [[buffer(10)]],                                                       \
      device const float *alibi_slopes [[buffer(11), function_constant(use_alibi)]],                                   \
      const constant float2 &kv_scale [[buffer(12)]], threadgroup char *shared_mem [[threadgroup(0)]],                 \
      uint3 tgid [[threadgroup_position_in_grid]], uint3 tgs [[threadgroups_per_grid]],                                \
      uint3 tid3 [[thread_position_in_threadgroup]], uint simd_tid [[simdgroup_index_in_threadgroup]],                 \
      uint simd_lid [[thread_index_in_simdgroup]]);

#define instantiate_paged_attention_reduce_inner(type, head_size, num_threads, partition_size)                         \
  template [[host_name("paged_attention_reduce_" #type "_hs" #head_size "_nt" #num_threads "_ps" #partition_size)]]    \
  [[kernel]] decltype(paged_attention_reduce<type, head_size, num_threads, partition_size>)                            \
      paged_attention_reduce<type, head_size, num_threads, partition_size>;

#define instantiate_paged_attention_heads(type, cache_type, block_size, num_threads, partition_size)  \
  instantiate_paged_attention_inner(type, cache_type, 32, block_size, num_threads, partition_size)    \
  instantiate_paged_attention_inner(type, cache_type, 64, block_size, num_threads, partition_size)

#define instantiate_paged_attention_blocks(type, cache_type, num_threads, partition_size)         \
  instantiate_paged_attention_heads(type, cache_type, 8, num_threads, partition_size)             \
  instantiate_paged_attention_heads(type, cache_type, 16, num_threads, partition_size)

instantiate_paged_attention_blocks(float, float, 64, 0)
instantiate_paged_attention_blocks(half, half, 64, 0)
instantiate_paged_attention_heads(bfloat, bfloat, 16, 64, 0)
instantiate_paged_attention_heads(float, int8_t, 16, 64, 0)
instantiate_paged_attention_heads(float, float, 8, 64, 32)
instantiate_paged_attention_reduce_inner(float, 32, 32, 32)
instantiate_paged_attention_reduce_inner(float, 64, 32, 32)
