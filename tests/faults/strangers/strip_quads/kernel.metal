// A stranger's attention: four threads for each key, keys in strips, online softmax in base 2.
#include <metal_stdlib>
using namespace metal;

// One threadgroup of 128 threads answers one query. Keys come in strips of 32; four neighbouring threads share the dot product of a key.
// Scores are kept in units of bits, so that every exponential is an exp2. Thread t owns the value coordinates t, t + 128, ...

struct Extents {
  int heads, kv_heads;
  int queries, keys;
  int dk, dv;
  int past;      // position of query 0
  int causal;
  int window;    // 0: none
  int ring_start, ring_size;
  int stored_mask, with_sinks;
  float scale, cap;
};

struct Pitches {
  ulong q_batch, q_head, q_row;
  ulong k_batch, k_head, k_row;
  ulong v_batch, v_head, v_row;
  ulong o_batch, o_head, o_row;
  ulong m_batch, m_head, m_row;
};

constant constexpr int kStrip = 32;
constant constexpr int kThreads = 128;
constant constexpr int kParts = kThreads / kStrip;
constant constexpr int kOwned = 2;
constant constexpr float kBits = M_LOG2E_F;

static inline ulong slot_of(int key, constant Extents& e) {
  const int slot = key + e.ring_start;
  return slot >= e.ring_size ? slot - e.ring_size : slot;
}

static inline float capped(float score, float cap) {
  return cap > 0.0f ? cap * precise::tanh(score / cap) : score;
}

template <typename T>
kernel void strip_attention(device const T* q [[buffer(0)]], device const T* k [[buffer(1)]], device const T* v [[buffer(2)]],
                            device T* out [[buffer(3)]], device const T* bias [[buffer(4)]], device const float* sinks [[buffer(5)]],
                            constant Extents& e [[buffer(6)]], constant Pitches& p [[buffer(7)]],
                            threadgroup float* query [[threadgroup(0)]],
                            uint3 where [[threadgroup_position_in_grid]], ushort tid [[thread_index_in_threadgroup]],
                            ushort lane [[thread_index_in_simdgroup]]) {
  threadgroup float strip[kStrip];

  const int row = where.x, head = where.y, batch = where.z;
  const int source = head / (e.heads / e.kv_heads);

  device const T* my_q = q + batch * p.q_batch + head * p.q_head + row * p.q_row;
  device const T* my_k = k + batch * p.k_batch + source * p.k_head;
  device const T* my_v = v + batch * p.v_batch + source * p.v_head;
  device const T* my_bias = bias + batch * p.m_batch + head * p.m_head + row * p.m_row;

  for (int c = tid; c < e.dk; c += kThreads) query[c] = float(my_q[c]) * e.scale;
  threadgroup_barrier(mem_flags::mem_threadgroup);

  const int position = row + e.past;
  const int begin = e.window > 0 ? max(0, position - e.window + 1) : 0;
  const int end = e.causal ? min(e.keys, position + 1) : e.keys;

  float best = e.with_sinks ? sinks[head] * kBits : -INFINITY;
  float total = e.with_sinks ? 1.0f : 0.0f;
  float sums[kOwned] = {0.0f, 0.0f};

  const int mine = tid / kParts, part = tid % kParts;
  for (int first = begin; first < end; first += kStrip) {
    const int key = first + mine;
    float score = 0.0f;
    if (key < end) {
      device const T* at = my_k + slot_of(key, e) * p.k_row;
      for (int c = part; c < e.dk; c += kParts) score = fma(query[c], float(at[c]), score);
    }
    score += simd_shuffle_xor(score, 1);
    score += simd_shuffle_xor(score, 2);
    if (part == 0) {
      score = capped(score, e.cap);
      if (e.stored_mask && key < end) score += float(my_bias[key]);
      strip[mine] = key < end ? score * kBits : -INFINITY;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);

    const float seen = strip[lane];
    const float peak = max(best, simd_max(seen));
    const float level = peak == -INFINITY ? 0.0f : peak;
    const float fade = exp2(best - level);
    const float weight = exp2(seen - level);
    best = peak;
    total = total * fade + simd_sum(weight);
    for (int i = 0; i < kOwned; ++i) sums[i] *= fade;

    const int filled = min(kStrip, end - first);
    for (int t = 0; t < filled; ++t) {
      const float w = simd_shuffle(weight, ushort(t));
      device const T* at = my_v + slot_of(first + t, e) * p.v_row;
      for (int i = 0, c = tid; c < e.dv; ++i, c += kThreads) sums[i] = fma(w, float(at[c]), sums[i]);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }

  device T* my_out = out + batch * p.o_batch + head * p.o_head + row * p.o_row;
  for (int i = 0, c = tid; c < e.dv; ++i, c += kThreads) my_out[c] = T(total > 0.0f ? sums[i] / total : 0.0f);
}

template [[host_name("strip_float")]] kernel decltype(strip_attention<float>) strip_attention<float>;
template [[host_name("strip_half")]] kernel decltype(strip_attention<half>) strip_attention<half>;
template [[host_name("strip_bfloat")]] kernel decltype(strip_attention<bfloat>) strip_attention<bfloat>;
