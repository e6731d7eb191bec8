// Decode attention over a paged cache, a ring, or plain rows. A program has one query head and one span of the keys. It takes tiles of as many
// keys as it has threads: first a thread for each key, then tree reductions in shared memory, then a thread for each coordinate of the
// output. `combine` merges the spans and adds the sinks.

#include <metal_stdlib>
using namespace metal;

constant int  CACHE_KIND [[function_constant(0)]];  // 0 rows, 1 ring, 2 pages
constant bool CAUSAL     [[function_constant(1)]];
constant bool LOCAL      [[function_constant(2)]];
constant bool CAPPED     [[function_constant(3)]];
constant bool WITH_SINKS [[function_constant(4)]];
constant bool PAGED = CACHE_KIND == 2;

constant constexpr int MAX_THREADS = 128;

struct Layout {
  long sb, sh, st;  // batch (or block), head, token
};

struct DecodeArgs {
  int    n_q, n_ctx, n_head, n_head_kv;
  int    q_offset, from_end;
  int    local_size;
  int    capacity, ring_start;
  int    page_size, pages_per_seq;
  int    splits;
  float  sm_scale, cap;
  Layout q, k, v;
};

struct block_q4_0 {
  half  d;
  uchar qs[16];
};

template <typename T>
struct Plain {
  typedef T Elem;
  static float get(const device T* row, int c) { return float(row[c]); }
};

struct Nibbles {
  typedef block_q4_0 Elem;
  static float get(const device block_q4_0* row, int c) {
    const device block_q4_0& b = row[c / 32];
    const int i = c % 32;
    const uchar byte = b.qs[i % 16];
    const int level = i < 16 ? (byte & 0x0F) : (byte >> 4);
    return float(b.d) * float(level - 8);
  }
};

// Where token t of a sequence lies: elements from the start of its cache, without the head.
inline long token_at(constant DecodeArgs& a, constant Layout& s, const device int* table, int seq, int t) {
  if (CACHE_KIND == 2) {
    const long block = table[seq * a.pages_per_seq + t / a.page_size];
    return block * s.sb + (t % a.page_size) * s.st;
  }
  int slot = t;
  if (CACHE_KIND == 1) {
    slot = a.ring_start + t;
    if (slot >= a.capacity) slot -= a.capacity;
  }
  return seq * s.sb + slot * s.st;
}

inline float tree_max(threadgroup float* buf, float x, uint tid, uint n) {
  buf[tid] = x;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint half_n = n / 2; half_n > 0; half_n /= 2) {
    if (tid < half_n) buf[tid] = max(buf[tid], buf[tid + half_n]);
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  const float r = buf[0];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  return r;
}

inline float tree_sum(threadgroup float* buf, float x, uint tid, uint n) {
  buf[tid] = x;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint half_n = n / 2; half_n > 0; half_n /= 2) {
    if (tid < half_n) buf[tid] += buf[tid + half_n];
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  const float r = buf[0];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  return r;
}

template <typename T, typename KV, int D>
kernel void pagering_decode(const device T*                 q       [[buffer(0)]],
                            const device typename KV::Elem* k       [[buffer(1)]],
                            const device typename KV::Elem* v       [[buffer(2)]],
                            const device int*               kv_len  [[buffer(3)]],
                            const device int*               table   [[buffer(4), function_constant(PAGED)]],
                            constant DecodeArgs&            a       [[buffer(5)]],
                            device float*                   acc_out [[buffer(6)]],
                            device float2*                  ml_out  [[buffer(7)]],
                            uint3 pid  [[threadgroup_position_in_grid]],
                            uint  tid  [[thread_index_in_threadgroup]],
                            uint3 ntid [[threads_per_threadgroup]]) {
  threadgroup float q_s[D];
  threadgroup float p_s[MAX_THREADS];
  threadgroup float red[MAX_THREADS];

  const int nt    = ntid.x;
  const int hq    = pid.x % a.n_head;
  const int iq    = pid.x / a.n_head;
  const int seq   = pid.y;
  const int split = pid.z;
  const int hkv   = hq / (a.n_head / a.n_head_kv);
  const int n     = kv_len[seq];

  const device T* q_row = q + seq * a.q.sb + hq * a.q.sh + iq * a.q.st;
  for (int c = tid; c < D; c += nt) q_s[c] = float(q_row[c]) * a.sm_scale;
  threadgroup_barrier(mem_flags::mem_threadgroup);

  // The tokens lo .. hi - 1 are seen; this program has a span of them.
  int pos = iq + a.q_offset;
  if (a.from_end) pos -= a.n_ctx - n;
  int lo = 0, hi = n;
  if (CAUSAL) hi = min(hi, pos + 1);
  if (LOCAL) lo = max(lo, pos - a.local_size + 1);
  const int total = max(hi - lo, 0);
  const int span  = (total + a.splits - 1) / a.splits;
  const int start = lo + split * span;
  const int stop  = min(start + span, hi);

  constexpr int COLS = (D + 31) / 32;
  float acc[COLS];
  for (int i = 0; i < COLS; ++i) acc[i] = 0.0f;
  float m_i = -INFINITY;
  float l_i = 0.0f;

  for (int base = start; base < stop; base += nt) {
    const int t = base + int(tid);
    float s = -INFINITY;
    if (t < stop) {
      const device typename KV::Elem* k_row = k + token_at(a, a.k, table, seq, t) + hkv * a.k.sh;
      float dot = 0.0f;
      for (int c = 0; c < D; ++c) dot += q_s[c] * KV::get(k_row, c);
      s = CAPPED ? a.cap * precise::tanh(dot / a.cap) : dot;
    }
    const float m_new = max(m_i, tree_max(red, s, tid, nt));
    const float w = exp(s - m_new);
    const float alpha = exp(m_i - m_new);
    p_s[tid] = w;
    l_i = l_i * alpha + tree_sum(red, w, tid, nt);
    m_i = m_new;

    const int live = min(nt, stop - base);
    for (int i = 0; i < COLS; ++i) {
      const int c = i * nt + int(tid);
      if (c >= D) break;
      float o = acc[i] * alpha;
      for (int j = 0; j < live; ++j) {
        const device typename KV::Elem* v_row = v + token_at(a, a.v, table, seq, base + j) + hkv * a.v.sh;
        o += p_s[j] * KV::get(v_row, c);
      }
      acc[i] = o;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }

  const long slot = ((long(seq) * a.n_q + iq) * a.n_head + hq) * a.splits + split;
  for (int i = 0; i < COLS; ++i) {
    const int c = i * nt + int(tid);
    if (c < D) acc_out[slot * D + c] = acc[i];
  }
  if (tid == 0) ml_out[slot] = float2(m_i, l_i);
}

struct CombineArgs {
  int n_q, n_head, splits;
};

template <typename T, int D>
kernel void pagering_combine(const device float*   acc_in [[buffer(0)]],
                             const device float2*  ml_in  [[buffer(1)]],
                             const device float*   sinks  [[buffer(2), function_constant(WITH_SINKS)]],
                             device T*             out    [[buffer(3)]],
                             device float*         lse    [[buffer(4)]],
                             constant CombineArgs& a      [[buffer(5)]],
                             uint3 pid [[threadgroup_position_in_grid]],
                             uint  tid [[thread_index_in_threadgroup]]) {
  const int hq  = pid.x;
  const int iq  = pid.y;
  const int seq = pid.z;
  const long first = ((long(seq) * a.n_q + iq) * a.n_head + hq) * a.splits;

  float m = WITH_SINKS ? sinks[hq] : -INFINITY;
  for (int s = 0; s < a.splits; ++s) m = max(m, ml_in[first + s].x);

  float l = WITH_SINKS ? exp(sinks[hq] - m) : 0.0f;
  for (int s = 0; s < a.splits; ++s) {
    const float2 ml = ml_in[first + s];
    if (ml.y > 0.0f) l += ml.y * exp(ml.x - m);
  }

  const long row = (long(seq) * a.n_head + hq) * a.n_q + iq;
  for (int c = tid; c < D; c += 32) {
    float o = 0.0f;
    for (int s = 0; s < a.splits; ++s) {
      const float2 ml = ml_in[first + s];
      if (ml.y > 0.0f) o += acc_in[(first + s) * D + c] * exp(ml.x - m);
    }
    out[row * D + c] = T(l > 0.0f ? o / l : 0.0f);
  }
  if (tid == 0) lse[row] = l > 0.0f ? m + log(l) : -INFINITY;
}

#define DECODE(tname, type, kname, kv, d) \
  template [[host_name("pagering_decode_" #tname "_" #kname "_" #d)]] kernel decltype(pagering_decode<type, kv, d>) pagering_decode<type, kv, d>;
#define COMBINE(tname, type, d) \
  template [[host_name("pagering_combine_" #tname "_" #d)]] kernel decltype(pagering_combine<type, d>) pagering_combine<type, d>;
#define ALL(d) \
  DECODE(float, float, float, Plain<float>, d) DECODE(float, float, q4_0, Nibbles, d) \
  DECODE(half, half, half, Plain<half>, d) DECODE(half, half, q4_0, Nibbles, d) \
  COMBINE(float, float, d) COMBINE(half, half, d)

ALL(64)
ALL(96)
ALL(128)
