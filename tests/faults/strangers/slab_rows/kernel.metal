// Eight query rows share a threadgroup. Tiles of 24 keys are staged in float, the values of the same keys in the same place behind them.
#include <metal_stdlib>
using namespace metal;

constant bool kCausal   [[function_constant(0)]];
constant bool kWindowed [[function_constant(1)]];
constant bool kCapped   [[function_constant(2)]];
constant bool kSunk     [[function_constant(3)]];
constant bool kBiased   [[function_constant(4)]];

enum Pitch { kBatch, kHead, kRow };

struct Slab {
  ulong q[3];
  ulong k[3];
  ulong v[3];
  ulong o[3];
  ulong m[3];
  int queries, keys, group, shift, from_end, window;
  float scale, cap;
};

constant constexpr int kRows = 8;    // query rows of a slab
constant constexpr int kTeam = 8;    // threads of a row
constant constexpr int kTile = 24;   // keys of a tile
constant constexpr int kEach = kTile / kTeam;
constant constexpr float kLog2e = 1.44269504f;

inline float team_max(float x) {
  x = max(x, simd_shuffle_xor(x, 4));
  x = max(x, simd_shuffle_xor(x, 2));
  return max(x, simd_shuffle_xor(x, 1));
}

inline float team_sum(float x) {
  x += simd_shuffle_xor(x, 4);
  x += simd_shuffle_xor(x, 2);
  return x + simd_shuffle_xor(x, 1);
}

template <typename T, int D>
inline void stage(threadgroup float* tile, device const T* from, ulong pitch, int live, int tid) {
  for (int e = tid; e < kTile * D; e += kRows * kTeam) {
    const int j = e / D, c = e % D;
    tile[j * (D + 1) + c] = j < live ? float(from[j * pitch + c]) : 0.0f;
  }
}

template <typename T, int DK, int DV>
kernel void slab_rows(device const T* q [[buffer(0)]], device const T* k [[buffer(1)]], device const T* v [[buffer(2)]],
                      device T* out [[buffer(3)]], constant Slab& slab [[buffer(4)]], device const int* lengths [[buffer(5)]],
                      device const T* bias [[buffer(6), function_constant(kBiased)]],
                      device const float* sinks [[buffer(7), function_constant(kSunk)]],
                      uint3 at [[threadgroup_position_in_grid]], uint tid [[thread_index_in_threadgroup]]) {
  constexpr int kWidest = DK > DV ? DK : DV;
  threadgroup float asked[kRows * DK];
  threadgroup float tile[kTile * (kWidest + 1)];
  threadgroup float weights[kRows * kTile];

  const int r = tid / kTeam, t = tid % kTeam;
  const int first = at.x * kRows, query = first + r;
  const int head = at.y, batch = at.z, kv = head / slab.group;
  const int n = lengths[batch];
  const int shift = slab.shift - (slab.from_end ? slab.keys - n : 0);
  const int here = query + shift;

  for (int e = tid; e < kRows * DK; e += kRows * kTeam) {
    const int row = first + e / DK;
    asked[e] = row < slab.queries ? float(q[batch * slab.q[kBatch] + head * slab.q[kHead] + row * slab.q[kRow] + e % DK]) : 0.0f;
  }
  device const T* keys = k + batch * slab.k[kBatch] + kv * slab.k[kHead];
  device const T* values = v + batch * slab.v[kBatch] + kv * slab.v[kHead];

  float acc[DV / kTeam];
  for (int i = 0; i < DV / kTeam; ++i) acc[i] = 0.0f;
  float peak = kSunk ? sinks[head] * kLog2e : -INFINITY;
  float mass = kSunk ? 1.0f : 0.0f;

  const int lo = kWindowed ? max(0, first + shift - slab.window + 1) : 0;
  const int hi = kCausal ? min(n, first + kRows + shift) : n;
  for (int base = lo; base < hi; base += kTile) {
    const int live = min(kTile, hi - base);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    stage<T, DK>(tile, keys + base * slab.k[kRow], slab.k[kRow], live, tid);
    threadgroup_barrier(mem_flags::mem_threadgroup);

    float score[kEach];
    float best = -INFINITY;
    for (int i = 0; i < kEach; ++i) {
      const int j = t + i * kTeam, key = base + j;
      float s = 0.0f;
      for (int c = 0; c < DK; ++c) s += asked[r * DK + c] * tile[j * (DK + 1) + c];
      s *= slab.scale;
      if (kCapped) s = slab.cap * precise::tanh(s / slab.cap);
      bool seen = j < live && query < slab.queries;
      if (kCausal) seen = seen && key <= here;
      if (kWindowed) seen = seen && key > here - slab.window;
      if (kBiased && seen) s += float(bias[batch * slab.m[kBatch] + head * slab.m[kHead] + query * slab.m[kRow] + key]);
      score[i] = seen ? s * kLog2e : -INFINITY;
      best = max(best, score[i]);
    }
    const float next = max(peak, team_max(best));
    const float keep = peak == -INFINITY ? 0.0f : exp2(peak - next);
    float more = 0.0f;
    for (int i = 0; i < kEach; ++i) {
      const float w = score[i] == -INFINITY ? 0.0f : exp2(score[i] - next);
      weights[r * kTile + t + i * kTeam] = w;
      more += w;
    }
    mass = mass * keep + team_sum(more);
    peak = next;

    threadgroup_barrier(mem_flags::mem_threadgroup);
    stage<T, DV>(tile, values + base * slab.v[kRow], slab.v[kRow], live, tid);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (int i = 0; i < DV / kTeam; ++i) {
      float sum = acc[i] * keep;
      for (int j = 0; j < live; ++j) sum += weights[r * kTile + j] * tile[j * (DV + 1) + t + i * kTeam];
      acc[i] = sum;
    }
  }

  if (query < slab.queries) {
    device T* row = out + batch * slab.o[kBatch] + head * slab.o[kHead] + query * slab.o[kRow];
    for (int i = 0; i < DV / kTeam; ++i) row[t + i * kTeam] = T(mass > 0.0f ? acc[i] / mass : 0.0f);
  }
}

#define MAKE(name, type, dk, dv) \
  template [[host_name("slab_rows_" #name "_" #dk "x" #dv)]] kernel decltype(slab_rows<type, dk, dv>) slab_rows<type, dk, dv>;
#define MAKE_SIZES(name, type) MAKE(name, type, 64, 64) MAKE(name, type, 80, 80) MAKE(name, type, 128, 128) MAKE(name, type, 192, 128)
MAKE_SIZES(float, float)
MAKE_SIZES(half, half)
MAKE_SIZES(bfloat, bfloat)
