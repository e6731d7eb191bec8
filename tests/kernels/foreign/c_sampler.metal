// From logits to tokens.
#include <metal_stdlib>
using namespace metal;

constant bool use_bias [[function_constant(0)]];
constant float penalty_slope [[function_constant(1)]];
constant float slope = is_function_constant_defined(penalty_slope) ? penalty_slope : 0.0f;

enum SamplerMode : uint { SAMPLE_GREEDY, SAMPLE_TOP_K, SAMPLE_TOP_P, SAMPLE_MODES };
static constant char mode_names[SAMPLE_MODES][8] = {"greedy", "top-k", "top-p"};

struct SamplerArgs {
  uint vocab;
  uint history;
  float temperature;
  float penalty;
  float p;
  uint k;
  uint seed;
  uint step;
};

#define FOR_VOCAB(i) for (uint i = lid; i < args.vocab; i += threads)
#define BLOCK_ARGS                                    \
  uint row [[threadgroup_position_in_grid]],          \
  uint lid [[thread_position_in_threadgroup]],        \
  uint threads [[threads_per_threadgroup]],           \
  uint lane [[thread_index_in_simdgroup]],            \
  uint sg [[simdgroup_index_in_threadgroup]]

struct MaxOp {
  static METAL_FUNC float simd(float x) { return simd_max(x); }
  static METAL_FUNC float both(float a, float b) { return fmax(a, b); }
  static METAL_FUNC float none() { return -INFINITY; }
};
struct SumOp {
  static METAL_FUNC float simd(float x) { return simd_sum(x); }
  static METAL_FUNC float both(float a, float b) { return a + b; }
  static METAL_FUNC float none() { return 0.0f; }
};

template <typename Op>
static float block_reduce(float x, threadgroup float (&slots)[32], uint lane, uint sg, uint threads) {
  x = Op::simd(x);
  threadgroup_barrier(mem_flags::mem_threadgroup);  // the slots may still be read
  if (lane == 0) slots[sg] = x;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float r = Op::none();
  for (uint i = 0; i < (threads + 31) / 32; ++i) r = Op::both(r, slots[i]);
  return r;
}

template <typename T>
kernel void repetition_penalty(
    device T* logits [[buffer(0)]],
    device const int* history [[buffer(1)]],
    constant SamplerArgs& args [[buffer(2)]],
    device const float* bias [[buffer(3), function_constant(use_bias)]],
    uint2 at [[thread_position_in_grid]]) {
  if (at.x >= args.vocab) return;
  uint seen = 0;
  for (uint h = 0; h < args.history; ++h) seen += history[at.y * args.history + h] == int(at.x);
  device T& logit = logits[at.y * args.vocab + at.x];
  float x = float(logit);
  if (seen) x = x > 0 ? x / args.penalty : x * args.penalty;
  x -= slope * float(seen);
  if (use_bias) x += bias[at.x];
  logit = T(x);
}
template [[host_name("repetition_penalty_float")]] kernel void repetition_penalty<float>(
    device float*, device const int*, constant SamplerArgs&, device const float* bias [[buffer(3), function_constant(use_bias)]], uint2);
template [[host_name("repetition_penalty_half")]] kernel void repetition_penalty<half>(
    device half*, device const int*, constant SamplerArgs&, device const float* bias [[buffer(3), function_constant(use_bias)]], uint2);

template <typename T>
kernel void softmax_temperature(
    device const T* logits [[buffer(0)]], device float* probs [[buffer(1)]], constant SamplerArgs& args [[buffer(2)]], BLOCK_ARGS) {
  threadgroup float slots[32];
  device const T* x = logits + row * args.vocab;
  const float scale = M_LOG2E_F / args.temperature;
  float top = -INFINITY, sum = 0.0f;
  FOR_VOCAB(i) top = max(top, float(x[i]));
  top = block_reduce<MaxOp>(top, slots, lane, sg, threads);
  FOR_VOCAB(i) sum += exp2((float(x[i]) - top) * scale);
  sum = block_reduce<SumOp>(sum, slots, lane, sg, threads);
  FOR_VOCAB(i) probs[row * args.vocab + i] = exp2((float(x[i]) - top) * scale) / sum;
}
#define SOFTMAX(T) template [[host_name("softmax_temperature_" #T)]] kernel decltype(softmax_temperature<T>) softmax_temperature<T>;
SOFTMAX(float)
SOFTMAX(half)

// Ranks by counting; ties go to the lower token.
kernel void top_k_select(
    device const float* probs [[buffer(0)]], device uint* tokens [[buffer(1)]], device float* values [[buffer(2)]], constant SamplerArgs& args [[buffer(3)]], BLOCK_ARGS) {
  (void)lane; (void)sg;
  device const float* p = probs + row * args.vocab;
  FOR_VOCAB(i) {
    const float mine = p[i];
    uint rank = 0;
    for (uint j = 0; j < args.vocab; ++j) rank += p[j] > mine || (p[j] == mine && j < i) ? 1u : 0u;
    if (rank < args.k) tokens[row * args.k + rank] = i, values[row * args.k + rank] = mine;
  }
}

// Over values sorted downwards: keeps the shortest prefix whose sum reaches p. One simdgroup for a row.
kernel void top_p_cut(
    device const float* sorted [[buffer(0)]], device float* kept [[buffer(1)]], device uint* counts [[buffer(2)]], constant SamplerArgs& args [[buffer(3)]],
    uint row [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
  device const float* in = sorted + row * args.k;
  float before = 0.0f, total = 0.0f;
  uint count = 0;
  for (uint base = 0; base < args.k; base += 32) {
    const float x = base + lane < args.k ? in[base + lane] : 0.0f;
    const float exclusive = before + simd_prefix_exclusive_sum(x);
    const bool keep = base + lane < args.k && exclusive < args.p;
    count += popcount(uint((simd_vote::vote_t)simd_ballot(keep)));
    total += simd_sum(keep ? x : 0.0f);
    before += simd_sum(x);
  }
  for (uint i = lane; i < args.k; i += 32) kept[row * args.k + i] = select(0.0f, in[i] / total, i < count);
  if (simd_is_first()) counts[row] = count;
}

kernel void min_p_filter(device const float* probs [[buffer(0)]], device float* kept [[buffer(1)]], constant SamplerArgs& args [[buffer(2)]], BLOCK_ARGS) {
  threadgroup float slots[32];
  const device float* p = probs + row * args.vocab;
  float top = 0.0f;
  FOR_VOCAB(i) top = fmax(top, p[i]);
  const float least = block_reduce<MaxOp>(top, slots, lane, sg, threads) * args.p;
  FOR_VOCAB(i) kept[row * args.vocab + i] = p[i] < least ? 0.0f : p[i];
}

static uint mix(uint x) {
  x ^= x >> 16; x *= 0x7feb352du; x ^= x >> 15; x *= 0x846ca68bu; x ^= x >> 16;
  return x;
}
static float uniform01(uint seed, uint row, uint step) { return float(mix(seed ^ mix(row ^ mix(step))) >> 8) * 0x1.0p-24f; }

// The first token at which the running sum exceeds u times the total. A simdgroup for each row.
kernel void sample_categorical(
    device const float* weights [[buffer(0)]], device int* tokens [[buffer(1)]], constant SamplerArgs& args [[buffer(2)]],
    uint row [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
  device const float* w = weights + row * args.vocab;
  float total = 0.0f;
  for (uint i = lane; i < args.vocab; i += 32) total += w[i];
  const float target = uniform01(args.seed, row, args.step) * simd_sum(total);
  float before = 0.0f;
  int token = int(args.vocab) - 1;
  for (uint base = 0; base < args.vocab; base += 32) {
    const float x = base + lane < args.vocab ? w[base + lane] : 0.0f;
    const float upto = before + simd_prefix_inclusive_sum(x);
    const uint over = uint((simd_vote::vote_t)simd_ballot(base + lane < args.vocab && upto > target));
    if (over != 0) { token = int(base + ctz(over)); break; }
    before = simd_broadcast(upto, 31);
  }
  if (lane == 0) tokens[row] = token;
}

struct Best { float value; uint token; };
static Best simd_max(Best b) {
  for (ushort m = 16; m > 0; m /= 2) {
    const Best o = {simd_shuffle_xor(b.value, m), simd_shuffle_xor(b.token, m)};
    if (o.value > b.value || (o.value == b.value && o.token < b.token)) b = o;
  }
  return b;
}

kernel void sample_greedy(device const half* logits [[buffer(0)]], device uint* tokens [[buffer(1)]], constant SamplerArgs& args [[buffer(2)]], BLOCK_ARGS) {
  threadgroup Best found[32];
  Best b = {-INFINITY, 0xffffffffu};
  FOR_VOCAB(i) {
    const float x = logits[row * args.vocab + i];
    if (x > b.value) b.value = x, b.token = i;
  }
  b = simd_max(b);
  if (lane == 0) found[sg] = b;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (sg == 0) {
    const Best none = {-INFINITY, 0xffffffffu};
    b = none;
    if (lane < (threads + 31) / 32) b = found[lane];
    b = simd_max(b);
    if (lane == 0) tokens[row] = b.token;
  }
}

static uint copy_name(device char* out, constant const char* name) {
  uint n = 0;
  while (name[n] != '\0') out[n] = name[n], ++n;
  out[n] = '\n';
  return n + 1;
}
kernel void sampler_names(device char* out [[buffer(0)]], device uint* length [[buffer(1)]]) {
  uint at = 0;
  for (uint m = SAMPLE_GREEDY; m < SAMPLE_MODES; ++m) at += copy_name(out + at, mode_names[m]);
  constant const char* last = "min-" "p";
  at += copy_name(out + at, last);
  *length = at;
}
