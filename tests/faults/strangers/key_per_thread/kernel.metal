// Attention with 128 threads a query. In each tile every thread scores a key by itself; the tile's maximum and mass are taken over the
// threadgroup in base 2; then a thread adds up one or two coordinates of the values.
#include <metal_stdlib>
using namespace metal;

constant int  HIDE [[function_constant(0)]];  // 1: keys after the query; 2: keys before the window; 4: keys whose byte is 0
constant bool CAP  [[function_constant(1)]];
constant bool SINK [[function_constant(2)]];

constant constexpr int   TILE  = 128;
constant constexpr int   WARPS = TILE / 32;
constant constexpr int   OWN   = 2;  // coordinates of a thread
constant constexpr float LOG2E = 1.44269504089f;

struct Steps { long batch, head, token; };

struct Problem {
  int   dk, dv, heads, kv_heads;
  int   longest, shift, span;
  bool  at_end;
  float alpha, cap;
};

struct Crew {
  threadgroup float* desk;  // a place for each simdgroup
  uint lane, warp;

  float largest(float x) const {
    x = simd_max(x);
    if (lane == 0) desk[warp] = x;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x = desk[0];
    for (int w = 1; w < WARPS; ++w) x = max(x, desk[w]);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    return x;
  }

  float total(float x) const {
    x = simd_sum(x);
    if (lane == 0) desk[warp] = x;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x = 0.0f;
    for (int w = 0; w < WARPS; ++w) x += desk[w];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    return x;
  }
};

static long at(constant Steps& s, long batch, long head, long token) {
  return batch * s.batch + head * s.head + token * s.token;
}

template <typename T>
kernel void key_per_thread(constant Problem& p [[buffer(0)]], device const T* q [[buffer(1)]], device const T* k [[buffer(2)]],
                           device const T* v [[buffer(3)]], device T* out [[buffer(4)]], device const uchar* shown [[buffer(5)]],
                           device const float* sinks [[buffer(6)]], device const int* kv_len [[buffer(7)]],
                           constant Steps& qs [[buffer(8)]], constant Steps& ks [[buffer(9)]], constant Steps& vs [[buffer(10)]],
                           constant Steps& ms [[buffer(11)]], constant Steps& os [[buffer(12)]],
                           uint3 where [[threadgroup_position_in_grid]], uint tid [[thread_index_in_threadgroup]],
                           uint lane [[thread_index_in_simdgroup]], uint warp [[simdgroup_index_in_threadgroup]]) {
  threadgroup float asked[256];
  threadgroup float weights[TILE];
  threadgroup float desk[WARPS];
  const Crew crew{desk, lane, warp};

  const int token = where.x, head = where.y, batch = where.z;
  const int kv_head = head / (p.heads / p.kv_heads);
  const int length = kv_len[batch];
  const int place = token + p.shift - (p.at_end ? p.longest - length : 0);

  device const T* my_q = q + at(qs, batch, head, token);
  for (int c = tid; c < p.dk; c += TILE) asked[c] = p.alpha * float(my_q[c]);
  threadgroup_barrier(mem_flags::mem_threadgroup);

  float top = SINK ? sinks[head] * LOG2E : -INFINITY;
  float mass = SINK ? 1.0f : 0.0f;
  float sum[OWN] = {0.0f, 0.0f};

  const int from = HIDE & 2 ? max(0, place - p.span + 1) / TILE * TILE : 0;
  const int upto = HIDE & 1 ? min(length, place + 1) : length;
  for (int base = from; base < upto; base += TILE) {
    const int key = base + int(tid);
    bool seen = key < upto;
    if (HIDE & 2) seen = seen && key > place - p.span;
    if (HIDE & 4) seen = seen && shown[at(ms, batch, head, token) + key] != 0;

    float score = -INFINITY;
    if (seen) {
      device const T* row = k + at(ks, batch, kv_head, key);
      score = 0.0f;
      for (int c = 0; c < p.dk; ++c) score = fma(asked[c], float(row[c]), score);
      if (CAP) score = p.cap * precise::tanh(score / p.cap);
      score *= LOG2E;
    }
    const float peak = max(top, crew.largest(score));
    if (peak == -INFINITY) continue;

    const float fade = exp2(top - peak);
    weights[tid] = exp2(score - peak);
    mass = mass * fade + crew.total(weights[tid]);
    top = peak;

    const int used = min(TILE, upto - base);
    for (int r = 0; r < OWN; ++r) {
      const int c = int(tid) + r * TILE;
      if (c >= p.dv) break;
      float add = 0.0f;
      for (int j = 0; j < used; ++j) add += weights[j] * float(v[at(vs, batch, kv_head, base + j) + c]);
      sum[r] = sum[r] * fade + add;
    }
  }

  device T* my_out = out + at(os, batch, head, token);
  for (int r = 0, c = tid; c < p.dv; ++r, c += TILE) my_out[c] = T(mass > 0.0f ? sum[r] / mass : 0.0f);
}

template [[host_name("key_per_thread_float")]] kernel decltype(key_per_thread<float>) key_per_thread<float>;
template [[host_name("key_per_thread_half")]] kernel decltype(key_per_thread<half>) key_per_thread<half>;
template [[host_name("key_per_thread_bfloat")]] kernel decltype(key_per_thread<bfloat>) key_per_thread<bfloat>;
