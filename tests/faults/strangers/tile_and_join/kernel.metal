// Attention by tiles of 64 keys, a key per thread, in parts that a second pass joins.
#include <metal_stdlib>
using namespace metal;

// A group of 64 threads is one part of the keys of one query. Each thread owns one key of a tile for the scores and
// HEAD / 64 coordinates for the sum.
struct Geometry {
  int heads, ratio, keys, rows, ring, window, position0, parts;
  float factor, cap;
  uint kb, kh, ks, vb, vh, vs;
  uint mb, mh, mq;
};

template <typename F, int HEAD>
[[kernel]] void tile_pass(device const F* qs [[buffer(0)]], device const F* ks [[buffer(1)]], device const F* vs [[buffer(2)]],
                          device const uchar* seen [[buffer(3)]], device float* acc_out [[buffer(4)]],
                          device float2* stat_out [[buffer(5)]], constant Geometry& geo [[buffer(6)]],
                          uint3 tg [[threadgroup_position_in_grid]], uint3 grid [[threadgroups_per_grid]],
                          uint tid [[thread_index_in_threadgroup]]) {
  threadgroup float qrow[HEAD];
  threadgroup float prob[64];
  threadgroup float red[64];
  const int bh = tg.x;
  const int batch = bh / geo.heads;
  const int head = bh - batch * geo.heads;
  const int query = tg.y;
  const int part = tg.z;
  const int kvh = head / geo.ratio;
  const long row = (long)bh * grid.y + query;
  for (int c = tid; c < HEAD; c += 64)
    qrow[c] = (float)qs[row * HEAD + c] * geo.factor;
  threadgroup_barrier(mem_flags::mem_threadgroup);

  const int position = query + geo.position0;
  float top = -INFINITY;
  float total = 0.0f;
  float sums[HEAD / 64] = {0.0f};

  for (int tile = part * 64; tile < geo.keys; tile += geo.parts * 64) {
    const int key = tile + (int)tid;
    bool visible = key < geo.keys;
    if (geo.window > 0)
      visible = visible && key > position - geo.window && key <= position;
    else if (geo.window < 0)
      visible = visible && key <= position;
    if (visible && geo.mq > 0)
      visible = seen[batch * geo.mb + head * geo.mh + query * geo.mq + key] != 0;
    float s = -INFINITY;
    if (visible) {
      const int slot = (key + geo.ring) % geo.rows;
      device const F* krow = ks + (ulong)batch * geo.kb + (ulong)kvh * geo.kh + (ulong)slot * geo.ks;
      float d = 0.0f;
      for (int c = 0; c < HEAD; c++)
        d = fma(qrow[c], (float)krow[c], d);
      if (geo.cap > 0.0f)
        d = geo.cap * precise::tanh(d / geo.cap);
      s = d;
    }
    red[tid] = s;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (int half_ = 32; half_ > 0; half_ /= 2) {
      if ((int)tid < half_) red[tid] = max(red[tid], red[tid + half_]);
      threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    const float best = max(top, red[0]);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (best == -INFINITY) continue;
    const float w = exp(s - best);
    const float shrink = exp(top - best);
    top = best;
    prob[tid] = w;
    red[tid] = w;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (int half_ = 32; half_ > 0; half_ /= 2) {
      if ((int)tid < half_) red[tid] += red[tid + half_];
      threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    total = total * shrink + red[0];
    const int count = min(64, geo.keys - tile);
    for (int e = 0; e < HEAD / 64; e++) {
      float a = sums[e] * shrink;
      for (int j = 0; j < count; j++) {
        if (prob[j] == 0.0f) continue;
        const int slot = (tile + j + geo.ring) % geo.rows;
        device const F* vrow = vs + (ulong)batch * geo.vb + (ulong)kvh * geo.vh + (ulong)slot * geo.vs;
        a += prob[j] * (float)vrow[e * 64 + tid];
      }
      sums[e] = a;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  const long place = row * geo.parts + part;
  for (int e = 0; e < HEAD / 64; e++)
    acc_out[place * HEAD + e * 64 + tid] = sums[e];
  if (tid == 0) stat_out[place] = float2(top, total);
}

template <typename F, int HEAD>
[[kernel]] void join_pass(device const float* acc_in [[buffer(0)]], device const float2* stat_in [[buffer(1)]],
                          device const float* sink [[buffer(2)]], device F* result [[buffer(3)]],
                          constant int& parts [[buffer(4)]], constant int& queries [[buffer(5)]],
                          constant int& heads [[buffer(6)]], constant int& has_sink [[buffer(7)]],
                          uint row [[threadgroup_position_in_grid]], uint tid [[thread_index_in_threadgroup]]) {
  float top = -INFINITY;
  for (int p = 0; p < parts; p++)
    top = max(top, stat_in[row * parts + p].x);
  const int head = (int)row / queries % heads;
  if (has_sink) top = max(top, sink[head]);
  float norm = has_sink ? exp(sink[head] - top) : 0.0f;
  float value = 0.0f;
  for (int p = 0; p < parts; p++) {
    const float2 st = stat_in[row * parts + p];
    if (st.y == 0.0f) continue;
    const float f = exp(st.x - top);
    norm += f * st.y;
    value += f * acc_in[(row * parts + p) * HEAD + tid];
  }
  result[row * HEAD + tid] = (F)(norm > 0.0f ? value / norm : 0.0f);
}

template [[host_name("tile_float_64")]] [[kernel]] decltype(tile_pass<float, 64>) tile_pass<float, 64>;
template [[host_name("tile_float_128")]] [[kernel]] decltype(tile_pass<float, 128>) tile_pass<float, 128>;
template [[host_name("tile_half_64")]] [[kernel]] decltype(tile_pass<half, 64>) tile_pass<half, 64>;
template [[host_name("tile_half_128")]] [[kernel]] decltype(tile_pass<half, 128>) tile_pass<half, 128>;
template [[host_name("join_float_64")]] [[kernel]] decltype(join_pass<float, 64>) join_pass<float, 64>;
template [[host_name("join_float_128")]] [[kernel]] decltype(join_pass<float, 128>) join_pass<float, 128>;
template [[host_name("join_half_64")]] [[kernel]] decltype(join_pass<half, 64>) join_pass<half, 64>;
template [[host_name("join_half_128")]] [[kernel]] decltype(join_pass<half, 128>) join_pass<half, 128>;
