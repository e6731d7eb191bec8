// ribbon: a simdgroup computes one query. Its lanes take the keys like cards, every 32nd each, and each lane runs a softmax of its own in
// powers of two over all coordinates. Five butterfly steps then join the 32 results; the logarithm of the denominator has base 2.

#include <metal_stdlib>

using namespace metal;

constant bool kForward [[function_constant(0)]];
constant bool kBanded  [[function_constant(1)]];
constant bool kCapped  [[function_constant(2)]];
constant bool kFromEnd [[function_constant(3)]];

constant float kLog2E = 1.4426950408889634f;

struct Pitch {
  ulong batch, head, token;
};

struct Plan {
  int heads, sharing, queries, longest;
  int slots, oldest, shift, band;
  float gain, cap;
};

template <int N>
struct Tally {
  float top, mass;
  float sum[N];

  void clear() thread {
    top = -INFINITY;
    mass = 0.0f;
    for (int c = 0; c < N; ++c) sum[c] = 0.0f;
  }

  void shrink(float to) thread {
    const float by = top == -INFINITY ? 0.0f : exp2(top - to);
    top = to;
    mass *= by;
    for (int c = 0; c < N; ++c) sum[c] *= by;
  }

  void join(ushort hop) thread {
    const float common = max(top, simd_shuffle_xor(top, hop));
    shrink(common);
    mass += simd_shuffle_xor(mass, hop);
    for (int c = 0; c < N; ++c) sum[c] += simd_shuffle_xor(sum[c], hop);
  }
};

template <typename T, int N>
kernel void ribbon(device const T* q, device const T* k, device const T* v, device T* out, device float* lse, device const int* kv_len,
                   constant Plan& plan, constant Pitch& of_q, constant Pitch& of_k, constant Pitch& of_v,
                   threadgroup float* stage [[threadgroup(0)]],
                   uint3 at [[threadgroup_position_in_grid]], ushort lane [[thread_index_in_simdgroup]],
                   ushort sg [[simdgroup_index_in_threadgroup]], ushort rows [[simdgroups_per_threadgroup]]) {
  const int row = at.x * rows + sg;
  if (row >= plan.queries) return;
  const int head = at.y, batch = at.z;
  const int present = kv_len[batch];

  threadgroup float* mine = stage + sg * N;
  device const T* from = q + batch * of_q.batch + head * of_q.head + row * of_q.token;
  for (int c = lane; c < N; c += 32) mine[c] = plan.gain * float(from[c]);
  simdgroup_barrier(mem_flags::mem_threadgroup);

  const int position = row + plan.shift - (kFromEnd ? plan.longest - present : 0);
  int begin = 0, end = present;
  if (kForward) end = min(end, position + 1);
  if (kBanded) begin = max(begin, position - plan.band + 1);

  const int owner = head / plan.sharing;
  device const T* keys = k + batch * of_k.batch + owner * of_k.head;
  device const T* values = v + batch * of_v.batch + owner * of_v.head;

  Tally<N> tally;
  tally.clear();
  for (int j = begin + lane; j < end; j += 32) {
    const int turn = plan.oldest + j;
    const int slot = turn < plan.slots ? turn : turn - plan.slots;
    device const T* key = keys + slot * of_k.token;
    float score = 0.0f;
    for (int c = 0; c < N; ++c) score = fma(mine[c], float(key[c]), score);
    if (kCapped) score = plan.cap * precise::tanh(score / plan.cap);
    score *= kLog2E;
    if (score > tally.top) tally.shrink(score);
    const float weight = exp2(score - tally.top);
    tally.mass += weight;
    device const T* value = values + slot * of_v.token;
    for (int c = 0; c < N; ++c) tally.sum[c] = fma(weight, float(value[c]), tally.sum[c]);
  }

  for (ushort hop = 16; hop > 0; hop >>= 1) tally.join(hop);

  const ulong place = (ulong(batch) * plan.heads + head) * plan.queries + row;
  const float over = tally.mass > 0.0f ? 1.0f / tally.mass : 0.0f;
  for (int c = lane; c < N; c += 32) out[place * N + c] = T(tally.sum[c] * over);
  if (lane == 0) lse[place] = tally.mass > 0.0f ? tally.top + log2(tally.mass) : -INFINITY;
}

#define RIBBON(type, size) template [[host_name("ribbon_" #type "_" #size)]] kernel decltype(ribbon<type, size>) ribbon<type, size>;
#define RIBBONS(size) RIBBON(float, size) RIBBON(half, size)

RIBBONS(32)
RIBBONS(64)
RIBBONS(80)
RIBBONS(128)
