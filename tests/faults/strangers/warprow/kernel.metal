// Attention, a warp per query row. A block has kWarps rows of one head; the lanes of a warp stand across the head dimension and walk over
// the keys together, two keys per step.

#include <metal_stdlib>
using namespace metal;

enum MaskKind : int { MASK_NONE = 0, MASK_BOOL = 1, MASK_ADD = 2 };

constant int  kMaskKind  [[function_constant(0)]];
constant bool kCausal    [[function_constant(1)]];
constant bool kWindowed  [[function_constant(2)]];
constant bool kHasSink   [[function_constant(3)]];
constant bool kHasCap    [[function_constant(4)]];
constant bool kBoolMask = kMaskKind == MASK_BOOL;
constant bool kAddMask  = kMaskKind == MASK_ADD;


struct FwdParams {
  int   seqlen_q, seqlen_k;
  int   num_heads, num_heads_k;
  int   q_shift;          // position of query 0 in the longest batch
  int   per_batch_shift;  // 1: positions count from the end of each batch
  int   window_left;
  float softmax_scale;
  float softcap;
  long  q_batch_stride, q_head_stride, q_row_stride;
  long  k_batch_stride, k_head_stride, k_row_stride;
  long  v_batch_stride, v_head_stride, v_row_stride;
  long  o_batch_stride, o_head_stride, o_row_stride;
  long  m_batch_stride, m_head_stride, m_row_stride;
};

constant constexpr int kWarpSize = 32;

// A row of D elements spread over the lanes of a warp: element e of lane l is column e * 32 + l.
template <int D>
struct Fragment {
  static constant constexpr int kElems = (D + kWarpSize - 1) / kWarpSize;
  float x[kElems];

  void clear() thread {
    for (int e = 0; e < kElems; ++e) x[e] = 0.0f;
  }

  template <typename T>
  void load(const device T* row, int lane) thread {
    for (int e = 0; e < kElems; ++e) {
      const int col = e * kWarpSize + lane;
      x[e] = col < D ? float(row[col]) : 0.0f;
    }
  }

  template <typename T>
  void store(device T* row, int lane, float factor) const thread {
    for (int e = 0; e < kElems; ++e) {
      const int col = e * kWarpSize + lane;
      if (col < D) row[col] = T(x[e] * factor);
    }
  }
};

template <int D>
inline float warp_dot(const thread Fragment<D>& a, const thread Fragment<D>& b) {
  float acc = 0.0f;
  for (int e = 0; e < Fragment<D>::kElems; ++e) acc += a.x[e] * b.x[e];
  return acc;
}

// All lanes get the sum: a butterfly, as with __shfl_xor_sync.
inline float warp_all_sum(float x) {
  for (ushort offset = kWarpSize / 2; offset > 0; offset >>= 1) x += simd_shuffle_xor(x, offset);
  return x;
}

struct RowState {
  float m, l;
};

// The range [begin, end) of keys that a row at `position` may see.
inline int2 visible_range(int position, int n_keys, int window_left) {
  int begin = 0;
  int end = n_keys;
  if (kCausal) end = min(end, position + 1);
  if (kWindowed) begin = max(begin, position - window_left + 1);
  return int2(begin, end);
}

inline float squash(float s, float cap) {
  return kHasCap ? cap * precise::tanh(s / cap) : s;
}

template <typename T, int D>
kernel void warprow_fwd(const device T*      q       [[buffer(0)]],
                        const device T*      k       [[buffer(1)]],
                        const device T*      v       [[buffer(2)]],
                        device T*            o       [[buffer(3)]],
                        constant FwdParams&  p       [[buffer(4)]],
                        const device int*    kv_len  [[buffer(5)]],
                        const device uchar*  bmask   [[buffer(6), function_constant(kBoolMask)]],
                        const device T*      amask   [[buffer(7), function_constant(kAddMask)]],
                        const device float*  sinks   [[buffer(8), function_constant(kHasSink)]],
                        uint3 blockIdx [[threadgroup_position_in_grid]],
                        uint  warps    [[simdgroups_per_threadgroup]],
                        uint  warp     [[simdgroup_index_in_threadgroup]],
                        uint  lane_id  [[thread_index_in_simdgroup]]) {
  const int lane = lane_id;
  const int row  = blockIdx.x * warps + warp;
  const int head = blockIdx.y;
  const int b    = blockIdx.z;
  if (row >= p.seqlen_q) return;

  const int h_h_k_ratio = p.num_heads / p.num_heads_k;
  const int head_k = head / h_h_k_ratio;
  const int n_keys = kv_len[b];

  int position = row + p.q_shift;
  if (p.per_batch_shift) position -= p.seqlen_k - n_keys;

  const device T* k_base = k + b * p.k_batch_stride + head_k * p.k_head_stride;
  const device T* v_base = v + b * p.v_batch_stride + head_k * p.v_head_stride;
  const long mask_at = b * p.m_batch_stride + head * p.m_head_stride + row * p.m_row_stride;

  Fragment<D> qf;
  qf.load(q + b * p.q_batch_stride + head * p.q_head_stride + row * p.q_row_stride, lane);
  for (int e = 0; e < Fragment<D>::kElems; ++e) qf.x[e] *= p.softmax_scale;

  Fragment<D> acc;
  acc.clear();
  RowState state{-INFINITY, 0.0f};

  const int2 range = visible_range(position, n_keys, p.window_left);

  for (int j = range.x; j < range.y; j += 2) {
    const bool pair = j + 1 < range.y;
    Fragment<D> k0, k1;
    k0.load(k_base + j * p.k_row_stride, lane);
    if (pair) {
      k1.load(k_base + (j + 1) * p.k_row_stride, lane);
    } else {
      k1.clear();
    }
    float s0 = squash(warp_all_sum(warp_dot<D>(qf, k0)), p.softcap);
    float s1 = squash(warp_all_sum(warp_dot<D>(qf, k1)), p.softcap);
    if (kMaskKind == MASK_BOOL) {
      if (bmask[mask_at + j] == 0) s0 = -INFINITY;
      if (pair && bmask[mask_at + j + 1] == 0) s1 = -INFINITY;
    }
    if (kMaskKind == MASK_ADD) {
      s0 += float(amask[mask_at + j]);
      if (pair) s1 += float(amask[mask_at + j + 1]);
    }
    if (!pair) s1 = -INFINITY;

    const float m_new = max(state.m, max(s0, s1));
    if (m_new == -INFINITY) continue;
    const float alpha = exp(state.m - m_new);
    const float p0 = exp(s0 - m_new);
    const float p1 = exp(s1 - m_new);
    state.l = state.l * alpha + p0 + p1;
    state.m = m_new;

    Fragment<D> v0, v1;
    v0.load(v_base + j * p.v_row_stride, lane);
    if (pair) {
      v1.load(v_base + (j + 1) * p.v_row_stride, lane);
    } else {
      v1.clear();
    }
    for (int e = 0; e < Fragment<D>::kElems; ++e) {
      acc.x[e] = acc.x[e] * alpha + p0 * v0.x[e] + p1 * v1.x[e];
    }
  }

  // The sink is one more key without a value.
  float scale_out = 1.0f;
  if (kHasSink) {
    const float sink = sinks[head];
    const float m_new = max(state.m, sink);
    scale_out = exp(state.m - m_new);
    state.l = state.l * scale_out + exp(sink - m_new);
  }
  const float inv = state.l == 0.0f ? 0.0f : scale_out / state.l;
  acc.store(o + b * p.o_batch_stride + head * p.o_head_stride + row * p.o_row_stride, lane, inv);
}

#define WARPROW(name, type, d) \
  template [[host_name("warprow_fwd_" #name "_" #d)]] kernel decltype(warprow_fwd<type, d>) warprow_fwd<type, d>;
#define WARPROW_TYPES(d) WARPROW(float, float, d) WARPROW(half, half, d) WARPROW(bfloat, bfloat, d)

WARPROW_TYPES(64)
WARPROW_TYPES(80)
WARPROW_TYPES(128)
WARPROW_TYPES(192)
