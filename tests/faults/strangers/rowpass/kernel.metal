// A stranger's attention: one threadgroup for each row of queries, online softmax in base 2.
#include <metal_stdlib>
using namespace metal;

// A threadgroup of 64 threads walks over the keys of one query in blocks of 64. A thread first owns a key, then a coordinate.
// Scores are kept in units of log 2.

constant bool is_causal   [[function_constant(0)]];
constant bool is_windowed [[function_constant(1)]];
constant bool is_capped   [[function_constant(2)]];
constant bool has_sink    [[function_constant(3)]];

constant constexpr int kBlock = 64;

struct Steps {
  long batch, head, token;
};

struct Problem {
  int   heads_per_kv;
  int   longest;
  int   rows;
  int   start;
  int   window;
  int   shift;
  int   from_end;
  float scale;
  float cap;
};

static inline long ring_row(int j, constant Problem& p) {
  const int row = p.start + j;
  return row >= p.rows ? row - p.rows : row;
}

static inline float across(float x, bool sum, threadgroup float* box, int tid) {
  const float own = sum ? simd_sum(x) : simd_max(x);
  if (tid % 32 == 0) box[tid / 32] = own;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const float both = sum ? box[0] + box[1] : max(box[0], box[1]);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  return both;
}

template <typename T, int D>
kernel void rowpass(device const T* q, device const T* k, device const T* v, device const float* sinks,
                    device const int* kv_len, device T* out, constant Problem& p,
                    constant Steps& q_by, constant Steps& k_by, constant Steps& v_by, constant Steps& o_by,
                    uint3 where [[threadgroup_position_in_grid]], uint thread_id [[thread_index_in_threadgroup]]) {
  threadgroup float query[D];
  threadgroup float weights[kBlock];
  threadgroup float box[2];
  const int tid = int(thread_id);
  const int token = where.x, head = where.y, batch = where.z;
  const int kv_head = head / p.heads_per_kv;
  const int keys = kv_len[batch];
  const int position = token + p.shift - (p.from_end ? p.longest - keys : 0);

  device const T* query_row = q + batch * q_by.batch + head * q_by.head + token * q_by.token;
  for (int c = tid; c < D; c += kBlock) query[c] = float(query_row[c]) * p.scale;
  threadgroup_barrier(mem_flags::mem_threadgroup);

  const int end   = is_causal ? min(keys, position + 1) : keys;
  const int begin = is_windowed ? max(0, position - p.window + 1) : 0;
  device const T* k_head = k + batch * k_by.batch + kv_head * k_by.head;
  device const T* v_head = v + batch * v_by.batch + kv_head * v_by.head;

  float acc[(D + kBlock - 1) / kBlock] = {};
  float peak = -INFINITY;
  float mass = 0.0f;
  for (int base = begin; base < end; base += kBlock) {
    const int live = min(kBlock, end - base);
    float score = -INFINITY;
    if (tid < live) {
      device const T* key = k_head + ring_row(base + tid, p) * k_by.token;
      float dot = 0.0f;
      for (int c = 0; c < D; ++c) dot += query[c] * float(key[c]);
      if (is_capped) dot = p.cap * precise::tanh(dot / p.cap);
      score = dot * M_LOG2E_F;
    }
    const float next = max(peak, across(score, false, box, tid));
    const float fade = exp2(peak - next);
    const float weight = exp2(score - next);
    weights[tid] = weight;
    mass = mass * fade + weight;
    peak = next;
    threadgroup_barrier(mem_flags::mem_threadgroup);

    for (int c = tid, i = 0; c < D; c += kBlock, ++i) {
      float sum = acc[i] * fade;
      for (int t = 0; t < live; ++t) {
        sum += weights[t] * float(v_head[ring_row(base + t, p) * v_by.token + c]);
      }
      acc[i] = sum;
    }
  }

  float total = across(mass, true, box, tid);
  float fade = 1.0f;
  if (has_sink) {
    const float sink = sinks[head] * M_LOG2E_F;
    const float next = max(peak, sink);
    fade = exp2(peak - next);
    total = total * fade + exp2(sink - next);
  }
  device T* out_row = out + batch * o_by.batch + head * o_by.head + token * o_by.token;
  for (int c = tid, i = 0; c < D; c += kBlock, ++i) {
    out_row[c] = total > 0.0f ? T(acc[i] * fade / total) : T(0.0f);
  }
}

#define ROWPASS(T, D) template [[host_name("rowpass_" #T "_" #D)]] kernel decltype(rowpass<T, D>) rowpass<T, D>;
#define ROWPASS_SIZES(T) ROWPASS(T, 32) ROWPASS(T, 64) ROWPASS(T, 80) ROWPASS(T, 128) ROWPASS(T, 256)
ROWPASS_SIZES(float)
ROWPASS_SIZES(half)
