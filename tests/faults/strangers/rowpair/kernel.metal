// Prefill with a pair of neighbouring lanes per query row. The tile of keys is staged in threadgroup memory, the row's state lives in registers.

#include <metal_stdlib>
using namespace metal;

enum FcSlot { kFcCausal = 0, kFcBand = 1, kFcBytes = 2, kFcCap = 3, kFcSinks = 4 };

constant bool fc_causal [[function_constant(kFcCausal)]];
constant bool fc_band   [[function_constant(kFcBand)]];
constant bool fc_bytes  [[function_constant(kFcBytes)]];
constant bool fc_cap    [[function_constant(kFcCap)]];
constant bool fc_sinks  [[function_constant(kFcSinks)]];

struct Geometry {
  long  q[3], k[3], v[3], o[3], m[3];  // batch, head, token
  int   n_head;
  int   n_rep;
  int   n_query;
  int   n_key_max;
  int   n_slot;
  int   slot0;
  int   window;
  int   shift;
  int   from_end;
  float qk_scale;
  float cap;
};

inline long at(constant long (&walk)[3], int b, int h, int t) { return b * walk[0] + h * walk[1] + t * walk[2]; }

constant constexpr int   kRows = 32;
constant constexpr int   kTile = 24;
constant constexpr int   kThreads = 2 * kRows;
constant constexpr float kLog2e = 1.44269504088896341f;

// Keys [lo, hi) that a query at a position may see.
struct Span {
  int lo, hi;
};

inline Span visible(int position, int n, int window) {
  Span s{0, n};
  if (fc_causal) s.hi = clamp(position + 1, 0, n);
  if (fc_band) s.lo = max(0, position - window + 1);
  return s;
}

inline int ring_slot(int key, int slot0, int n_slot) {
  const int s = slot0 + key;
  return s < n_slot ? s : s - n_slot;
}

// Unnormalised softmax state in base 2.
template <int N>
struct RowState {
  float  hi = -INFINITY;
  float  den = 0.0f;
  float4 num[N];

  void clear() thread {
    for (int i = 0; i < N; ++i) num[i] = 0.0f;
  }
  void raise(float to) thread {
    if (!(to > hi)) return;
    const float shrink = exp2(hi - to);
    hi = to;
    den *= shrink;
    for (int i = 0; i < N; ++i) num[i] *= shrink;
  }
};

template <typename T, int D>
void stage(threadgroup T* tile, const device T* src, long pitch, int key0, int count, int slot0, int n_slot, int tid) {
  constexpr int kVecs = D / 4;
  for (int e = tid; e < kTile * kVecs; e += kThreads) {
    const int r = e / kVecs;
    const int c = (e % kVecs) * 4;
    const bool in = r < count;
    const device T* from = src + (in ? ring_slot(key0 + r, slot0, n_slot) : 0) * pitch + c;
    for (int x = 0; x < 4; ++x) tile[r * D + c + x] = in ? from[x] : T(0);
  }
}

template <typename T, int D>
kernel void rowpair_prefill(device const T*        Qp     [[buffer(0)]],
                            device const T*        Kp     [[buffer(1)]],
                            device const T*        Vp     [[buffer(2)]],
                            device T*              Op     [[buffer(3)]],
                            constant Geometry&     geo    [[buffer(4)]],
                            device const int*      lens   [[buffer(5)]],
                            device const uchar*    shown  [[buffer(6), function_constant(fc_bytes)]],
                            device const float*    sinkv  [[buffer(7), function_constant(fc_sinks)]],
                            uint3 tg  [[threadgroup_position_in_grid]],
                            uint  tid [[thread_index_in_threadgroup]]) {
  constexpr int N = D / 8;
  threadgroup T stash[kTile * D];

  const int bh = tg.y;
  const int b = bh / geo.n_head;
  const int h = bh % geo.n_head;
  const int hk = h / geo.n_rep;
  const int row0 = tg.x * kRows;
  const int row = row0 + int(tid) / 2;
  const int side = tid & 1;
  const bool owns = row < geo.n_query;
  const int n = lens[b];
  const int shift = geo.shift - (geo.from_end != 0 ? geo.n_key_max - n : 0);

  float4 mine[N];
  {
    device const T* src = Qp + at(geo.q, b, h, owns ? row : 0);
    for (int i = 0; i < N; ++i) {
      const int c = 4 * (2 * i + side);
      mine[i] = float4(src[c], src[c + 1], src[c + 2], src[c + 3]) * geo.qk_scale;
    }
  }

  RowState<N> state;
  state.clear();
  if (fc_sinks) {
    state.hi = sinkv[h] * kLog2e;
    state.den = 1.0f;
  }

  const Span own = visible(row + shift, n, geo.window);
  const int last = min(row0 + kRows, geo.n_query) - 1;
  const int begin = visible(row0 + shift, n, geo.window).lo / kTile * kTile;
  const int end = visible(last + shift, n, geo.window).hi;

  device const T* keys = Kp + at(geo.k, b, hk, 0);
  device const T* vals = Vp + at(geo.v, b, hk, 0);

  for (int key0 = begin; key0 < end; key0 += kTile) {
    const int count = min(kTile, n - key0);

    threadgroup_barrier(mem_flags::mem_threadgroup);
    stage<T, D>(stash, keys, geo.k[2], key0, count, geo.slot0, geo.n_slot, int(tid));
    threadgroup_barrier(mem_flags::mem_threadgroup);

    float logit[kTile];
    float best = -INFINITY;
    for (int j = 0; j < kTile; ++j) {
      float part = 0.0f;
      for (int i = 0; i < N; ++i) {
        threadgroup const T* k4 = stash + j * D + 4 * (2 * i + side);
        part += dot(mine[i], float4(k4[0], k4[1], k4[2], k4[3]));
      }
      float s = part + simd_shuffle_xor(part, 1);
      if (fc_cap) s = geo.cap * precise::tanh(s / geo.cap);
      const int key = key0 + j;
      bool see = owns && key >= own.lo && key < own.hi;
      if (fc_bytes) see = see && shown[at(geo.m, b, h, row) + key] != 0;
      logit[j] = see ? s * kLog2e : -INFINITY;
      best = max(best, logit[j]);
    }
    state.raise(best);

    threadgroup_barrier(mem_flags::mem_threadgroup);
    stage<T, D>(stash, vals, geo.v[2], key0, count, geo.slot0, geo.n_slot, int(tid));
    threadgroup_barrier(mem_flags::mem_threadgroup);

    for (int j = 0; j < kTile; ++j) {
      if (logit[j] == -INFINITY) continue;
      const float p = exp2(logit[j] - state.hi);
      state.den += p;
      for (int i = 0; i < N; ++i) {
        threadgroup const T* v4 = stash + j * D + 4 * (2 * i + side);
        state.num[i] += p * float4(v4[0], v4[1], v4[2], v4[3]);
      }
    }
  }

  if (!owns) return;
  const float inv = state.den > 0.0f ? 1.0f / state.den : 0.0f;
  device T* dst = Op + at(geo.o, b, h, row);
  for (int i = 0; i < N; ++i) {
    const int c = 4 * (2 * i + side);
    for (int x = 0; x < 4; ++x) dst[c + x] = T(state.num[i][x] * inv);
  }
}

#define MAKE(T, D) template [[host_name("rowpair_prefill_" #T "_hs" #D)]] kernel decltype(rowpair_prefill<T, D>) rowpair_prefill<T, D>;
MAKE(float, 32)
MAKE(half, 32)
MAKE(float, 64)
MAKE(half, 64)
