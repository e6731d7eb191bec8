// Plain attention, a row of queries for each threadgroup: masks and biases as functors, ring caches, split decoding.
#include <metal_stdlib>
using namespace metal;

struct AttnShape {
  int q_len, k_len, heads, kv_heads;
  int head_dim;
  float scale;
  int window;
  int sinks;
};

// ---- what a score becomes; a score of -INFINITY does not count
struct CausalMask {
  METAL_FUNC float operator()(float s, int q, int k, int, constant AttnShape&) const { return k <= q ? s : -INFINITY; }
  METAL_FUNC int first(int, constant AttnShape&) const { return 0; }
};
struct AlibiBias : CausalMask {
  static METAL_FUNC float slope(int head, int heads) { return exp2(-8.0f * float(head + 1) / float(heads)); }
  METAL_FUNC float operator()(float s, int q, int k, int head, constant AttnShape& shape) const {
    return CausalMask::operator()(s - slope(head, shape.heads) * float(q - k), q, k, head, shape);
  }
};
struct SlidingWindow : CausalMask {
  METAL_FUNC float operator()(float s, int q, int k, int head, constant AttnShape& shape) const {
    if (k <= q - shape.window) return -INFINITY;
    return CausalMask::operator()(s, q, k, head, shape);
  }
  METAL_FUNC int first(int q, constant AttnShape& shape) const { return max(0, q - shape.window + 1); }
};
struct SinkWindow : CausalMask {
  METAL_FUNC float operator()(float s, int q, int k, int, constant AttnShape& shape) const {
    const bool seen = k <= q && (k < shape.sinks || k > q - shape.window);
    return select(-INFINITY, s, seen);
  }
};
template <typename A, typename B>
struct Both {
  METAL_FUNC float operator()(float s, int q, int k, int head, constant AttnShape& shape) const { return B()(A()(s, q, k, head, shape), q, k, head, shape); }
  METAL_FUNC int first(int q, constant AttnShape& shape) const { return max(A().first(q, shape), B().first(q, shape)); }
};
using AlibiWindow = Both<AlibiBias, SlidingWindow>;

template <typename T>
static float dot_rows(const device T* a, const device T* b, int n) {
  float s = 0.0f;
  for (int i = 0; i < n; i += 4) s += dot(float4(*(const device vec<T, 4>*)(a + i)), float4(*(const device vec<T, 4>*)(b + i)));
  return s;
}

struct Reducer {
  threadgroup float* slots;
  uint lane, sg, sgs;
  template <typename F>
  float all(float x, F f) thread {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (lane == 0) slots[sg] = x;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float r = slots[0];
    for (uint i = 1; i < sgs; ++i) r = f(r, slots[i]);
    return r;
  }
  float maximum(float x) thread { return all(simd_max(x), [](float a, float b) { return fmax(a, b); }); }
  float sum(float x) thread { return all(simd_sum(x), [](float a, float b) { return a + b; }); }
};

template <typename T, typename Mask>
[[kernel, max_total_threads_per_threadgroup(128)]] void attention_row(
    device const T* q [[buffer(0)]],  // [heads][q_len][head_dim]
    device const T* k [[buffer(1)]],  // [kv_heads][k_len][head_dim]
    device const T* v [[buffer(2)]],
    device T* out [[buffer(3)]],
    constant AttnShape& shape [[buffer(4)]],
    threadgroup float* scores [[threadgroup(0)]],
    uint2 tg [[threadgroup_position_in_grid]],
    uint2 tid [[thread_position_in_threadgroup]],
    uint2 size [[threads_per_threadgroup]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]],
    uint sgs [[simdgroups_per_threadgroup]]) {
  threadgroup float slots[4];
  Reducer reduce = {slots, lane, sg, sgs};
  Mask mask;
  const int row = tg.x, head = tg.y, dim = shape.head_dim;
  const int pos = row + shape.k_len - shape.q_len;
  const int kv = head / (shape.heads / shape.kv_heads);
  const device T* rows[3] = {q + (head * shape.q_len + row) * dim, k + kv * shape.k_len * dim, v + kv * shape.k_len * dim};
  const int from = mask.first(pos, shape);
  float top = -INFINITY, sum = 0.0f;
  for (int j = from + int(tid.x); j <= pos; j += size.x) {
    scores[j] = mask(dot_rows(rows[0], rows[1] + j * dim, dim) * shape.scale, pos, j, head, shape);
    top = fmax(top, scores[j]);
  }
  top = reduce.maximum(top);
  for (int j = from + int(tid.x); j <= pos; j += size.x) {
    scores[j] = fast::exp(scores[j] - top);
    sum += scores[j];
  }
  sum = reduce.sum(sum);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (int d = tid.x; d < dim; d += size.x) {
    float o = 0.0f;
    for (int j = from; j <= pos; ++j) o += scores[j] * float(rows[2][j * dim + d]);
    out[(head * shape.q_len + row) * dim + d] = T(o / sum);
  }
}

#define inst_attn(name, type, tname, mask) \
  template [[host_name("attn_" #name "_" #tname)]] [[kernel]] decltype(attention_row<type, mask>) attention_row<type, mask>;
#define inst_attn_types(name, mask) inst_attn(name, float, f32, mask) inst_attn(name, half, f16, mask)
inst_attn_types(causal, CausalMask)
inst_attn_types(alibi, AlibiBias)
inst_attn_types(window, SlidingWindow)
inst_attn_types(sinks, SinkWindow)
inst_attn(alibi_window, float, f32, AlibiWindow)

// ---- one step on a ring cache: the new row replaces the oldest, then everything in the ring is attended to
struct RingShape {
  int capacity, position, head_dim;
  float scale;
};

kernel void ring_decode(
    device const float* q [[buffer(0)]], device const float* new_k [[buffer(1)]], device const float* new_v [[buffer(2)]],
    device float* k_ring [[buffer(3)]], device float* v_ring [[buffer(4)]], device float* out [[buffer(5)]], constant RingShape& ring [[buffer(6)]],
    uint head [[threadgroup_position_in_grid]], uint lane [[thread_position_in_threadgroup]]) {
  const int dim = ring.head_dim, slot = ring.position % ring.capacity, filled = min(ring.position + 1, ring.capacity);
  device float* kr = k_ring + head * ring.capacity * dim;
  device float* vr = v_ring + head * ring.capacity * dim;
  for (int d = lane; d < dim; d += 32) kr[slot * dim + d] = new_k[head * dim + d], vr[slot * dim + d] = new_v[head * dim + d];
  threadgroup_barrier(mem_flags::mem_device);
  float m = -1e30f, l = 0.0f;
  float2 acc = 0;  // dimensions lane and lane + 32
  for (int base = 0; base < filled; base += 32) {
    const int j = base + int(lane);
    const float s = j < filled ? dot_rows<float>(q + head * dim, kr + j * dim, dim) * ring.scale : -1e30f;
    const float next = max(m, simd_max(s)), shrink = exp(m - next), p = j < filled ? exp(s - next) : 0.0f;
    l = l * shrink + simd_sum(p);
    acc *= shrink;
    for (int i = 0; i < min(32, filled - base); ++i) {
      const float pi = simd_shuffle(p, ushort(i));
      const device float* row = vr + (base + i) * dim;
      if (int(lane) < dim) acc.x += pi * row[lane];
      if (int(lane) + 32 < dim) acc.y += pi * row[lane + 32];
    }
    m = next;
  }
  if (int(lane) < dim) out[head * dim + lane] = acc.x / l;
  if (int(lane) + 32 < dim) out[head * dim + lane + 32] = acc.y / l;
}

// ---- decoding split over threadgroups; the last one to finish combines
#if __METAL_VERSION__ >= 320
#define SHARED coherent(device) device
#else
#define SHARED volatile device
#endif

kernel void split_decode(
    device const float* q [[buffer(0)]], device const float* k [[buffer(1)]], device const float* v [[buffer(2)]],
    SHARED float* partial [[buffer(3)]],  // [splits][32 + 2]
    device atomic_uint* done [[buffer(4)]], device float* out [[buffer(5)]], constant int2& shape [[buffer(6)]],  // keys, keys in a split
    uint split [[threadgroup_position_in_grid]], uint splits [[threadgroups_per_grid]], uint lane [[thread_position_in_threadgroup]]) {
  const int first = int(split) * shape.y, last = min(first + shape.y, shape.x);
  float m = -1e30f, l = 0.0f, acc = 0.0f;
  for (int j = first; j < last; ++j) {
    const float s = simd_sum(q[lane] * k[j * 32 + int(lane)]);
    const float next = max(m, s);
    const float shrink = exp(m - next), p = exp(s - next);
    l = l * shrink + p, acc = acc * shrink + p * v[j * 32 + int(lane)], m = next;
  }
  partial[split * 34 + lane] = acc;
  if (lane == 0) partial[split * 34 + 32] = m, partial[split * 34 + 33] = l;
#if __METAL_VERSION__ >= 320
  atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
#endif
  threadgroup_barrier(mem_flags::mem_device);
  uint before = 0;
  if (lane == 0) before = atomic_fetch_add_explicit(done, 1u, memory_order_relaxed);
  before = simd_broadcast_first(before);
  if (before + 1 != splits) return;
#if __METAL_VERSION__ >= 320
  atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
#endif
  m = -1e30f, l = 0.0f, acc = 0.0f;
  for (uint s = 0; s < splits; ++s) m = max(m, partial[s * 34 + 32]);
  for (uint s = 0; s < splits; ++s) {
    const float w = exp(partial[s * 34 + 32] - m);
    l += w * partial[s * 34 + 33], acc += w * partial[s * 34 + lane];
  }
  out[lane] = acc / l;
}
