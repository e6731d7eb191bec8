// Split-KV decode over pages with the query heads of a kv head packed into rows of one threadgroup (PackGQA).
// Every lane scores a key of its own; the values are gathered with the lanes over the head size.

#include <metal_stdlib>

namespace flashpage {
using namespace metal;

typedef struct {
  int   n_seq, n_q_head, n_kv_head, n_tok;
  int   longest;
  int   table_pitch;
  int   offset;
  int   offset_is_end;
  int   n_split;
  float softmax_scale;
  float softcap;
  long  q_step[3];
  long  k_step[3];
  long  v_step[3];
  long  bias_step[3];
} DecodeDesc;

constant bool opt_causal  [[function_constant(1)]];
constant bool opt_bias    [[function_constant(2)]];
constant bool opt_slope   [[function_constant(3)]];
constant bool opt_softcap [[function_constant(4)]];
constant bool opt_sink    [[function_constant(5)]];

// Start of the row of a token in a paged tensor.
template <typename E, int PAGE>
struct Pages {
  const device E*   base;
  const device int* table;
  long              block_step, token_step;

  const device E* operator()(int token) const thread {
    const int page = token / PAGE, inside = token & (PAGE - 1);
    return base + table[page] * block_step + inside * token_step;
  }
};

struct SplitRange {
  int from, to;
  SplitRange(int n, int split, int n_split) {
    const int chunks = (n + 31) >> 5;
    const int each = (chunks + n_split - 1) / n_split;
    from = min(n, split * each * 32);
    to = min(n, (split + 1) * each * 32);
  }
};

template <typename E, int HD, int PAGE>
[[kernel]] void packed_decode(const device E*      q         [[buffer(0)]],
                              const device E*      kpool     [[buffer(1)]],
                              const device E*      vpool     [[buffer(2)]],
                              const device int*    tables    [[buffer(3)]],
                              const device int*    seq_lens  [[buffer(4)]],
                              constant DecodeDesc& desc      [[buffer(5)]],
                              device float*        part_acc  [[buffer(6)]],
                              device float*        part_lse  [[buffer(7)]],
                              const device half*   bias      [[buffer(8), function_constant(opt_bias)]],
                              const device float*  slopes    [[buffer(9), function_constant(opt_slope)]],
                              threadgroup float*   smem      [[threadgroup(0)]],
                              uint3  cta     [[threadgroup_position_in_grid]],
                              ushort warp    [[simdgroup_index_in_threadgroup]],
                              ushort n_warp  [[simdgroups_per_threadgroup]],
                              ushort lane    [[thread_index_in_simdgroup]]) {
  constexpr int PER = HD / 32;
  const int kvh = cta.x, split = cta.y, seq = cta.z;
  const int pack = desc.n_q_head / desc.n_kv_head;
  const int len = seq_lens[seq];
  const int pos0 = desc.offset - (desc.offset_is_end ? desc.longest - len : 0);
  const SplitRange range(len, split, desc.n_split);

  const device int* table = tables + seq * desc.table_pitch;
  const Pages<E, PAGE> K = {kpool + kvh * desc.k_step[1], table, desc.k_step[0], desc.k_step[2]};
  const Pages<E, PAGE> V = {vpool + kvh * desc.v_step[1], table, desc.v_step[0], desc.v_step[2]};

  threadgroup float* q_s   = smem;                    // HD
  threadgroup float* acc_s = q_s + HD;                // n_warp * HD
  threadgroup float* m_s   = acc_s + n_warp * HD;     // n_warp
  threadgroup float* l_s   = m_s + n_warp;            // n_warp

  for (int r = 0; r < pack * desc.n_tok; ++r) {
    const int head = kvh * pack + r % pack;
    const int tok = r / pack;

    const device E* q_row = q + seq * desc.q_step[0] + head * desc.q_step[1] + tok * desc.q_step[2];
    for (int d = warp * 32 + lane; d < HD; d += n_warp * 32) q_s[d] = float(q_row[d]) * desc.softmax_scale;
    threadgroup_barrier(mem_flags::mem_threadgroup);

    const device half* bias_row = nullptr;
    if (opt_bias) bias_row = bias + seq * desc.bias_step[0] + head * desc.bias_step[1] + tok * desc.bias_step[2];
    float slope = 1.0f;
    if (opt_slope) slope = slopes[head];

    const int limit = opt_causal ? min(range.to, pos0 + tok + 1) : range.to;

    float m_i = -INFINITY, l_i = 0.0f;
    float acc[PER] = {};

    for (int base = range.from + warp * 32; base < limit; base += n_warp * 32) {
      const int key = base + lane;
      float s = -INFINITY;
      if (key < limit) {
        const device E* k_row = K(key);
        float dp = 0.0f;
        for (int d = 0; d < HD; ++d) dp = fma(q_s[d], float(k_row[d]), dp);
        if (opt_softcap) dp = desc.softcap * precise::tanh(dp / desc.softcap);
        s = opt_bias ? dp + slope * float(bias_row[key]) : dp;
      }
      const float m_new = max(m_i, simd_max(s));
      if (m_new == -INFINITY) continue;
      const float alpha = exp(m_i - m_new);
      const float p = exp(s - m_new);
      m_i = m_new;
      l_i = l_i * alpha + p;
      for (int x = 0; x < PER; ++x) acc[x] *= alpha;
      const int alive = min(32, limit - base);
      for (int j = 0; j < alive; ++j) {
        const float pj = simd_broadcast(p, ushort(j));
        const device E* v_row = V(base + j);
        for (int x = 0; x < PER; ++x) acc[x] = fma(pj, float(v_row[x * 32 + lane]), acc[x]);
      }
    }

    l_i = simd_sum(l_i);
    for (int x = 0; x < PER; ++x) acc_s[warp * HD + x * 32 + lane] = acc[x];
    if (lane == 0) {
      m_s[warp] = m_i;
      l_s[warp] = l_i;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);

    float m_all = -INFINITY;
    for (int w = 0; w < n_warp; ++w) m_all = max(m_all, m_s[w]);
    float l_all = 0.0f;
    for (int w = 0; w < n_warp; ++w) l_all += m_s[w] == -INFINITY ? 0.0f : l_s[w] * exp(m_s[w] - m_all);

    const long cell = ((long(seq) * desc.n_q_head + head) * desc.n_tok + tok) * desc.n_split + split;
    for (int d = warp * 32 + lane; d < HD; d += n_warp * 32) {
      float sum = 0.0f;
      for (int w = 0; w < n_warp; ++w) {
        if (m_s[w] != -INFINITY) sum += acc_s[w * HD + d] * exp(m_s[w] - m_all);
      }
      part_acc[cell * HD + d] = l_all > 0.0f ? sum / l_all : 0.0f;
    }
    if (warp == 0 && lane == 0) part_lse[cell] = l_all > 0.0f ? m_all + log(l_all) : -INFINITY;
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
}

// Weighs the splits of a row by the logarithms of their sums.
template <typename E, int HD>
[[kernel]] void packed_combine(const device float* part_acc [[buffer(0)]],
                               const device float* part_lse [[buffer(1)]],
                               device E*           out      [[buffer(2)]],
                               constant int&       n_split  [[buffer(3)]],
                               constant int&       n_q_head [[buffer(4)]],
                               constant int&       n_tok    [[buffer(5)]],
                               constant long*      o_step   [[buffer(6)]],
                               const device float* sink     [[buffer(7), function_constant(opt_sink)]],
                               uint   row  [[threadgroup_position_in_grid]],
                               ushort lane [[thread_index_in_simdgroup]]) {
  const int tok = row % n_tok, head = row / n_tok % n_q_head, seq = row / (n_tok * n_q_head);
  const device float* lse = part_lse + long(row) * n_split;

  float peak = -INFINITY;
  for (int s = lane; s < n_split; s += 32) peak = max(peak, lse[s]);
  peak = simd_max(peak);
  if (opt_sink) peak = max(peak, sink[head]);

  float total = 0.0f;
  if (peak > -INFINITY) {
    for (int s = lane; s < n_split; s += 32) total += exp(lse[s] - peak);
  }
  total = simd_sum(total);
  if (opt_sink) total += exp(sink[head] - peak);

  device E* o_row = out + seq * o_step[0] + head * o_step[1] + tok * o_step[2];
  for (int d = lane; d < HD; d += 32) {
    float o = 0.0f;
    if (total > 0.0f) {
      for (int s = 0; s < n_split; ++s) o += exp(lse[s] - peak) * part_acc[(long(row) * n_split + s) * HD + d];
      o /= total;
    }
    o_row[d] = E(o);
  }
}

#define DECODE(E, HD, PAGE) \
  template [[host_name("packed_decode_" #E "_" #HD "_p" #PAGE)]] [[kernel]] decltype(packed_decode<E, HD, PAGE>) packed_decode<E, HD, PAGE>;
#define BOTH(E, HD)   \
  DECODE(E, HD, 8)    \
  DECODE(E, HD, 16)   \
  DECODE(E, HD, 32)   \
  template [[host_name("packed_combine_" #E "_" #HD)]] [[kernel]] decltype(packed_combine<E, HD>) packed_combine<E, HD>;

BOTH(float, 32)
BOTH(float, 64)
BOTH(half, 64)
BOTH(half, 32)
}  // namespace flashpage
