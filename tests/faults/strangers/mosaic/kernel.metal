// mosaic: attention of many queries. A threadgroup holds 16 queries of a head and walks over tiles of 16 keys in threadgroup
// memory. A team of eight threads owns a query: each scores two keys of a tile, and each keeps every eighth coordinate of the
// output. The softmax runs online, with scores in units of log2.

#include <metal_stdlib>

using namespace metal;

constant bool CAUSAL   [[function_constant(0)]];
constant bool WINDOWED [[function_constant(1)]];
constant bool CAPPED   [[function_constant(2)]];

#define ROWS 16
#define COLS 16
#define TEAM 8
#define CREW (ROWS * TEAM)
#define LOG2E 1.44269504089f

struct Job {
  long q_batch, q_head, q_row;
  long k_batch, k_head, k_row;
  long v_batch, v_head, v_row;
  long o_batch, o_head, o_row;
  int heads, share, queries, longest;
  int shift, window;
  bool from_end;
  float scale, cap;
};

static inline float team_max(float x) {
  x = max(x, simd_shuffle_xor(x, 4));
  x = max(x, simd_shuffle_xor(x, 2));
  return max(x, simd_shuffle_xor(x, 1));
}

static inline float team_sum(float x) {
  x += simd_shuffle_xor(x, 4);
  x += simd_shuffle_xor(x, 2);
  return x + simd_shuffle_xor(x, 1);
}

// Rows first, first + 1, ... of a matrix, zeros behind its last one.
template <typename T, int D>
static inline void fetch(threadgroup T* tile, device const T* from, long pitch, int first, int rows, int end, int tix) {
  for (int e = tix; e < rows * D; e += CREW) {
    const int r = e / D, c = e % D;
    tile[r * (D + 4) + c] = first + r < end ? from[(first + r) * pitch + c] : T(0);
  }
}

template <typename T, int D>
kernel void mosaic(device const T* q, device const T* k, device const T* v, device T* out, device float* lse,
                   device const int* kv_len, constant Job& job, uint3 where [[threadgroup_position_in_grid]],
                   ushort tix [[thread_index_in_threadgroup]]) {
  constexpr int P = D + 4;
  constexpr int MINE = D / TEAM;
  threadgroup T qs[ROWS * P], ks[COLS * P], vs[COLS * P];
  threadgroup float ps[ROWS * COLS];

  const int head = where.y, batch = where.z;
  const int r = tix / TEAM, t = tix % TEAM;
  const int corner = where.x * ROWS;
  const int keys = kv_len[batch];
  const int lead = job.shift - (job.from_end ? job.longest - keys : 0);
  const int query = corner + r;
  const int pos = query + lead;

  q += batch * job.q_batch + head * job.q_head;
  k += batch * job.k_batch + head / job.share * job.k_head;
  v += batch * job.v_batch + head / job.share * job.v_head;
  fetch<T, D>(qs, q, job.q_row, corner, ROWS, job.queries, tix);

  int begin = 0, end = keys;
  if (CAUSAL) end = min(end, corner + ROWS + lead);
  if (WINDOWED) begin = max(0, corner + lead - job.window + 1) / COLS * COLS;

  float m = -INFINITY, l = 0.0f;
  float acc[MINE];
  for (int n = 0; n < MINE; ++n) acc[n] = 0.0f;

  for (int tile = begin; tile < end; tile += COLS) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    fetch<T, D>(ks, k, job.k_row, tile, COLS, keys, tix);
    fetch<T, D>(vs, v, job.v_row, tile, COLS, keys, tix);
    threadgroup_barrier(mem_flags::mem_threadgroup);

    float s[COLS / TEAM];
    float best = m;
    for (int c = 0; c < COLS / TEAM; ++c) {
      const int col = c * TEAM + t;
      float x = 0.0f;
      for (int d = 0; d < D; ++d) x = fma(float(qs[r * P + d]), float(ks[col * P + d]), x);
      x *= job.scale;
      if (CAPPED) x = job.cap * precise::tanh(x / job.cap);
      const int key = tile + col;
      bool hidden = key >= keys;
      if (CAUSAL) hidden = hidden || key > pos;
      if (WINDOWED) hidden = hidden || key <= pos - job.window;
      s[c] = hidden ? -INFINITY : x * LOG2E;
      best = max(best, s[c]);
    }
    best = team_max(best);

    const float base = best == -INFINITY ? 0.0f : best;
    const float shrink = exp2(m - base);
    float part = 0.0f;
    for (int c = 0; c < COLS / TEAM; ++c) {
      const float p = exp2(s[c] - base);
      ps[r * COLS + c * TEAM + t] = p;
      part += p;
    }
    l = l * shrink + team_sum(part);
    m = best;
    simdgroup_barrier(mem_flags::mem_threadgroup);

    for (int n = 0; n < MINE; ++n) {
      float x = acc[n] * shrink;
      for (int c = 0; c < COLS; ++c) x = fma(ps[r * COLS + c], float(vs[c * P + n * TEAM + t]), x);
      acc[n] = x;
    }
  }

  if (query >= job.queries) return;
  const float inverse = l > 0.0f ? 1.0f / l : 0.0f;
  device T* row = out + batch * job.o_batch + head * job.o_head + query * job.o_row;
  for (int n = 0; n < MINE; ++n) row[n * TEAM + t] = T(acc[n] * inverse);
  if (t == 0) lse[(long(batch) * job.heads + head) * job.queries + query] = l > 0.0f ? m + log2(l) : -INFINITY;
}

#define MAKE(name, type, d) template [[host_name("mosaic_" #name "_" #d)]] kernel decltype(mosaic<type, d>) mosaic<type, d>;
#define MAKE_SIZES(name, type) MAKE(name, type, 32) MAKE(name, type, 64) MAKE(name, type, 96) MAKE(name, type, 128)

MAKE_SIZES(float, float)
MAKE_SIZES(half, half)
MAKE_SIZES(bfloat, bfloat)
