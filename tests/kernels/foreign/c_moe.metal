// Mixtures of experts: gating, routing, grouped products; and the verification step of speculative decoding.
#include <metal_stdlib>
#include <metal_simdgroup>
using namespace metal;

namespace moe {

constant constexpr uint kMaxExperts = 32;

typedef struct _MoeArgs {
  uint tokens, experts, top, dim, hidden;
} MoeArgs;

struct Choice {
  float weight;
  uint expert;
};

template <typename T, uint TOP>
struct Gate {
  // The lanes hold one logit each; the highest are taken out one after the other.
  static METAL_FUNC void run(float logit, uint lane, thread Choice (&chosen)[TOP]) {
    float sum = 0.0f;
    float top = 0.0f;
    for (uint k = 0; k < TOP; ++k) {
      const float best = simd_max(logit);
      const uint who = simd_min(logit == best ? lane : 0xffffu);
      if (k == 0) top = best;
      chosen[k].expert = who;
      chosen[k].weight = precise::exp(best - top);
      sum += chosen[k].weight;
      if (lane == who) logit = -INFINITY;
    }
    for (uint k = 0; k < TOP; ++k) chosen[k].weight /= sum;
  }
};

template <typename T, uint TOP>
[[kernel]] void gate(
    const device T* logits [[buffer(0)]],
    device Choice* choices [[buffer(1)]],
    constant MoeArgs& args [[buffer(2)]],
    uint tg [[threadgroup_position_in_grid]],
    ushort sg [[simdgroup_index_in_threadgroup]],
    ushort lane [[thread_index_in_simdgroup]],
    ushort sgs [[simdgroups_per_threadgroup]]) {
  const uint token = tg * sgs + sg;
  if (token >= args.tokens) return;
  Choice chosen[TOP];
  const float x = lane < args.experts ? float(logits[token * args.experts + lane]) : -INFINITY;
  Gate<T, TOP>::run(x, lane, chosen);
  if (lane < TOP) {
    Choice mine = chosen[0];
    for (uint k = 1; k < TOP; ++k) if (lane == k) mine = chosen[k];
    choices[token * TOP + lane] = mine;
  }
}

#define instantiate_gate(type, top) template [[host_name("moe_gate_" #type "_top" #top)]] [[kernel]] decltype(gate<type, top>) gate<type, top>;
#define instantiate_gates(top) instantiate_gate(float, top) instantiate_gate(half, top)
instantiate_gates(2)
instantiate_gates(4)

[[kernel]] void count_tokens(
    const device Choice* choices [[buffer(0)]],
    device atomic_uint* counts [[buffer(1)]],
    constant MoeArgs& args [[buffer(2)]],
    uint gid [[thread_position_in_grid]],
    uint lid [[thread_position_in_threadgroup]]) {
  threadgroup atomic_uint local[kMaxExperts];
  if (lid < kMaxExperts) atomic_store_explicit(&local[lid], 0, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (gid < args.tokens * args.top) atomic_fetch_add_explicit(&local[choices[gid].expert], 1, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (lid >= args.experts) return;
  const uint n = atomic_load_explicit(&local[lid], memory_order_relaxed);
  if (n > 0) atomic_fetch_add_explicit(&counts[lid], n, memory_order_relaxed);
}

}  // namespace moe

using namespace moe;

// One simdgroup: offsets of the experts' segments, padded to multiples of four, and the table of work.
[[kernel]] void segment_offsets(
    const device uint* counts [[buffer(0)]],
    device uint2* segments [[buffer(1)]],
    device uint* total [[buffer(2)]],
    constant MoeArgs& args [[buffer(3)]],
    uint lane [[thread_index_in_simdgroup]]) {
  const uint n = lane < args.experts ? counts[lane] : 0;
  const uint padded = (n + 3u) & ~3u;
  const uint first = simd_prefix_exclusive_sum(padded);
  if (lane < args.experts) segments[lane] = uint2(first, first + n);
  if (lane == args.experts - 1) total[0] = first + padded, total[1] = simd_all(true) ? 1 : 0;
}

// The place of each choice within its expert's segment keeps the tokens' order.
[[kernel]] void route(
    const device Choice* choices [[buffer(0)]],
    const device uint2* segments [[buffer(1)]],
    device uint* place [[buffer(2)]],
    device int* source [[buffer(3)]],
    constant MoeArgs& args [[buffer(4)]],
    uint gid [[thread_position_in_grid]]) {
  if (gid >= args.tokens * args.top) return;
  const uint e = choices[gid].expert;
  uint before = 0;
  for (uint i = 0; i < gid; ++i) before += choices[i].expert == e ? 1 : 0;
  place[gid] = segments[e].x + before;
  source[segments[e].x + before] = int(gid / args.top);
}

template <typename T> struct Silu { T operator()(T x) const thread { return x / (T(1) + exp(-x)); } };
template <typename T> struct Relu2 { T operator()(T x) const thread { x = max(x, T(0)); return x * x; } };

template <typename W, template <typename> class Act>
[[kernel]] void expert_up(
    const device float* x [[buffer(0)]],
    const device W* w [[buffer(1)]],  // [experts][hidden][dim]
    const device uint2* segments [[buffer(2)]],
    const device int* source [[buffer(3)]],
    device float* y [[buffer(4)]],  // [places][hidden]
    constant MoeArgs& args [[buffer(5)]],
    uint2 at [[thread_position_in_grid]]) {
  const uint h = at.x, p = at.y;
  if (h >= args.hidden) return;
  uint e = 0;
  while (e < args.experts && !(p >= segments[e].x && p < segments[e].y)) ++e;
  if (e == args.experts) { y[p * args.hidden + h] = 0.0f; return; }
  const device W* row = w + (e * args.hidden + h) * args.dim;
  const device float* in = x + uint(source[p]) * args.dim;
  float sum = 0.0f;
  for (uint i = 0; i < args.dim; ++i) sum += float(row[i]) * in[i];
  y[p * args.hidden + h] = Act<float>()(sum);
}
template [[host_name("expert_up_half_silu")]] [[kernel]] decltype(expert_up<half, Silu>) expert_up<half, Silu>;
template [[host_name("expert_up_char_relu2")]] [[kernel]] decltype(expert_up<char, Relu2>) expert_up<char, Relu2>;

[[kernel]] void combine(
    const device float* y [[buffer(0)]],
    const device Choice* choices [[buffer(1)]],
    const device uint* place [[buffer(2)]],
    device float* out [[buffer(3)]],
    constant MoeArgs& args [[buffer(4)]],
    uint2 at [[thread_position_in_grid]]) {
  if (any(at >= uint2(args.hidden, args.tokens))) return;
  float sum = 0.0f;
  for (uint k = at.y * args.top; k < (at.y + 1) * args.top; ++k) sum = fma(choices[k].weight, y[place[k] * args.hidden + at.x], sum);
  out[at.y * args.hidden + at.x] = sum;
}

// ---- speculative decoding
struct SpeculationArgs {
  uint vocab;
  uint drafted;
};

// One simdgroup for each sequence. Accepts drafted tokens while u * q <= p; then samples from the positive part of p - q.
kernel void verify_draft(
    device const float* p [[buffer(0)]],  // [sequences][drafted + 1][vocab]
    device const float* q [[buffer(1)]],  // [sequences][drafted][vocab]
    device const uint* draft [[buffer(2)]],
    device const float* u [[buffer(3)]],  // [sequences][drafted + 1]
    device uint2* result [[buffer(4)]],   // accepted, next token
    constant SpeculationArgs& args [[buffer(5)]],
    uint s [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]]) {
  const uint n = args.drafted, v = args.vocab;
  p += s * (n + 1) * v, q += s * n * v, draft += s * n, u += s * (n + 1);
  bool ok = false;
  if (lane < n) ok = u[lane] * q[lane * v + draft[lane]] <= p[lane * v + draft[lane]];
  const uint accepted = ctz(~uint((simd_vote::vote_t)simd_ballot(ok)));
  const device float* pp = p + accepted * v;
  const device float* qq = accepted < n ? q + accepted * v : nullptr;
  float mass = 0.0f;
  for (uint i = lane; i < v; i += 32) mass += qq ? fmax(pp[i] - qq[i], 0.0f) : pp[i];
  const float target = u[n] * simd_sum(mass);
  float before = 0.0f;
  uint token = v - 1;
  bool found = false;
  for (uint base = 0; base < v && !found; base += 32) {
    const uint i = base + lane;
    float x = 0.0f;
    if (i < v) x = qq != nullptr ? fmax(pp[i] - qq[i], 0.0f) : pp[i];
    const float upto = before + simd_prefix_inclusive_sum(x);
    found = simd_any(i < v && upto > target);
    if (found) token = simd_min(i < v && upto > target ? i : 0xffffffffu);
    before = simd_broadcast(upto, 31);
  }
  if (lane == 0) result[s] = uint2(accepted, token);
}
