// relay: attention of a few queries over a long cache. The simdgroups of a threadgroup take a stretch of the keys each. In a
// batch of 32 keys a lane scores a key of its own; then the weights go round, and a lane sums its own coordinates of the
// values. What the simdgroups found is merged through threadgroup memory.

#include <metal_stdlib>
using namespace metal;

enum : uint { kOpen = 0, kCausal = 1, kBits = 2, kBias = 3 };

constant uint mask_kind [[function_constant(0)]];
constant bool with_sinks [[function_constant(1)]];

struct Plan {
  ulong key_batch, key_head, key_step;
  ulong value_batch, value_head, value_step;
  ulong mask_batch, mask_head, mask_query;
  uint query_heads, heads_per_kv, n_keys, slots, oldest;
  int  ahead;
  float scale;
};

// The slot of a ring that holds key j.
inline uint slot_of(constant Plan& plan, uint j) {
  const uint s = plan.oldest + j;
  return s < plan.slots ? s : s - plan.slots;
}

template <typename Q, typename K, ushort DK>
inline float product(threadgroup const float4* query, device const K* key) {
  float4 sum = 0.0f;
  device const vec<K, 4>* key4 = (device const vec<K, 4>*)key;
  for (ushort c = 0; c < DK / 4; ++c) {
    sum += query[c] * float4(key4[c]);
  }
  return (sum.x + sum.y) + (sum.z + sum.w);
}

template <typename Q, typename K, ushort DK, ushort DV>
kernel void relay(constant Plan& plan [[buffer(0)]], device const Q* q [[buffer(1)]], device const K* k [[buffer(2)]],
                  device const K* v [[buffer(3)]], device const uchar* bits [[buffer(4)]], device const Q* bias [[buffer(5)]],
                  device const float* sinks [[buffer(6)]], device Q* out [[buffer(7)]],
                  threadgroup float* pool [[threadgroup(0)]],
                  uint3 at [[threadgroup_position_in_grid]], uint3 of [[threadgroups_per_grid]],
                  uint tix [[thread_index_in_threadgroup]], uint sg [[simdgroup_index_in_threadgroup]],
                  uint n_sg [[simdgroups_per_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
  constexpr ushort OWN = DV / 32;
  const uint head = at.x, query = at.y, batch = at.z;
  const uint kv = head / plan.heads_per_kv;
  const ulong row = (ulong(batch) * plan.query_heads + head) * of.y + query;

  // pool: the scaled query | sums of each simdgroup | its maximum and its denominator
  threadgroup float* sums = pool + DK;
  threadgroup float* tops = sums + n_sg * DV;
  threadgroup float* weights = tops + n_sg;

  for (uint c = tix; c < DK; c += 32 * n_sg) {
    pool[c] = plan.scale * float(q[row * DK + c]);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);

  device const K* keys = k + batch * plan.key_batch + kv * plan.key_head;
  device const K* values = v + batch * plan.value_batch + kv * plan.value_head;
  const ulong mask_row = batch * plan.mask_batch + head * plan.mask_head + query * plan.mask_query;

  int seen = int(plan.n_keys);
  if (mask_kind == kCausal) {
    seen = clamp(int(query) + plan.ahead + 1, 0, seen);
  }
  const int stretch = (seen + int(n_sg) - 1) / int(n_sg);
  const int from = int(sg) * stretch;
  const int to = min(seen, from + stretch);

  float top = -INFINITY;
  float weight = 0.0f;
  if (with_sinks && sg == 0) {
    top = sinks[head];
    weight = 1.0f;
  }
  float o[OWN];
  for (ushort i = 0; i < OWN; ++i) {
    o[i] = 0.0f;
  }

  for (int first = from; first < to; first += 32) {
    const int j = first + int(lane);
    float score = -INFINITY;
    if (j < to) {
      score = product<Q, K, DK>((threadgroup const float4*)pool, keys + slot_of(plan, j) * plan.key_step);
      if (mask_kind == kBits) {
        score = bits[mask_row + j] != 0 ? score : -INFINITY;
      } else if (mask_kind == kBias) {
        score += float(bias[mask_row + j]);
      }
    }

    const float higher = max(top, simd_max(score));
    if (higher == -INFINITY) {
      continue;
    }
    const float fade = exp(top - higher);
    const float mine = exp(score - higher);
    top = higher;
    weight = weight * fade + simd_sum(mine);
    for (ushort i = 0; i < OWN; ++i) {
      o[i] *= fade;
    }

    const int many = min(32, to - first);
    for (int u = 0; u < many; ++u) {
      const float p = simd_shuffle(mine, ushort(u));
      device const K* value = values + slot_of(plan, first + u) * plan.value_step;
      for (ushort i = 0; i < OWN; ++i) {
        o[i] += p * float(value[i * 32 + lane]);
      }
    }
  }

  for (ushort i = 0; i < OWN; ++i) {
    sums[sg * DV + i * 32 + lane] = o[i];
  }
  if (lane == 0) {
    tops[sg] = top;
    weights[sg] = weight;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);

  float highest = tops[0];
  for (uint s = 1; s < n_sg; ++s) {
    highest = max(highest, tops[s]);
  }
  for (uint d = tix; d < DV; d += 32 * n_sg) {
    float value = 0.0f, total = 0.0f;
    for (uint s = 0; s < n_sg; ++s) {
      const float share = tops[s] == -INFINITY ? 0.0f : exp(tops[s] - highest);
      value += share * sums[s * DV + d];
      total += share * weights[s];
    }
    out[row * DV + d] = Q(total == 0.0f ? 0.0f : value / total);
  }
}

#define RELAY(q, k, dk, dv) \
  template [[host_name("relay_" #q "_" #k "_" #dk "_" #dv)]] kernel decltype(relay<q, k, dk, dv>) relay<q, k, dk, dv>;
#define RELAY_ALL(dk, dv) RELAY(float, float, dk, dv) RELAY(float, half, dk, dv) RELAY(half, half, dk, dv)

RELAY_ALL(64, 64)
RELAY_ALL(80, 64)
RELAY_ALL(128, 128)
RELAY_ALL(192, 128)
