// Spokes: a simdgroup is four wheels of eight lanes. Each wheel turns over keys of its own with a softmax of its own; wheels are joined by
// shuffles, simdgroups by shared memory, and the splits of a long row by a second function.

#include <metal_stdlib>
using namespace metal;

constant bool use_causal [[function_constant(10)]];
constant bool use_bytes  [[function_constant(11)]];
constant bool use_bias   [[function_constant(12)]];
constant bool use_slope  [[function_constant(13)]];
constant bool use_pages  [[function_constant(14)]];
constant bool use_sinks  [[function_constant(15)]];
constant bool use_mask = use_bytes || use_bias;

struct Axle {
  int heads, share, tokens, keys, splits;
  int shift, from_end;
  int page_keys, page_slots;   // keys of a page; entries of a row of the table
  float scale;
};

struct Steps {       // elements
  long block;        // or batch
  long head;
  long key;
};

struct MaskSteps {
  long batch, head, token;
};

// What a wheel knows about its keys so far: the largest score, the sum of weights, and 1/8 of the weighted values.
template <int N>
struct Hub {
  float peak;
  float mass;
  float rim[N];

  void clear() thread {
    peak = -INFINITY;
    mass = 0.0f;
    for (int i = 0; i < N; ++i) rim[i] = 0.0f;
  }

  // Weight of this hub beside one whose peak is `top`.
  float against(float top) const thread { return peak == -INFINITY ? 0.0f : exp(peak - top); }

  void join(ushort distance) thread {
    const float their_peak = simd_shuffle_xor(peak, distance);
    const float their_mass = simd_shuffle_xor(mass, distance);
    const float top = max(peak, their_peak);
    const float ours = against(top);
    const float theirs = their_peak == -INFINITY ? 0.0f : exp(their_peak - top);
    for (int i = 0; i < N; ++i) {
      const float other = simd_shuffle_xor(rim[i], distance);
      rim[i] = rim[i] * ours + other * theirs;
    }
    mass = mass * ours + their_mass * theirs;
    peak = top;
  }
};

static inline float wheel_sum(float x) {
  x += simd_shuffle_xor(x, 1);
  x += simd_shuffle_xor(x, 2);
  x += simd_shuffle_xor(x, 4);
  return x;
}

template <typename T, int D, int V>
kernel void spokes_turn(constant Axle& axle [[buffer(0)]],
                        constant Steps& k_steps [[buffer(1)]],
                        constant Steps& v_steps [[buffer(2)]],
                        constant MaskSteps& m_steps [[buffer(3)]],
                        const device T* q [[buffer(4)]],
                        const device T* k [[buffer(5)]],
                        const device T* v [[buffer(6)]],
                        const device uchar* byte_mask [[buffer(7), function_constant(use_bytes)]],
                        const device T* bias_mask [[buffer(8), function_constant(use_bias)]],
                        const device float* slopes [[buffer(9), function_constant(use_slope)]],
                        const device int* block_table [[buffer(10), function_constant(use_pages)]],
                        const device int* kv_len [[buffer(11)]],
                        device float* records [[buffer(12)]],
                        threadgroup float* yard [[threadgroup(0)]],
                        uint2 where [[threadgroup_position_in_grid]],
                        ushort lane [[thread_index_in_simdgroup]],
                        ushort sg [[simdgroup_index_in_threadgroup]],
                        ushort nsg [[simdgroups_per_threadgroup]]) {
  constexpr int kAsk = D / 8;
  constexpr int kRim = V / 8;
  constexpr int kRecord = V + 2;

  const int row   = where.x;
  const int split = where.y;
  const int token = row % axle.tokens;
  const int head  = row / axle.tokens % axle.heads;
  const int batch = row / axle.tokens / axle.heads;
  const int kv    = head / axle.share;
  const int count = kv_len[batch];
  const int place = token + axle.shift - (axle.from_end ? axle.keys - count : 0);

  const int wheel = sg * 4 + lane / 8;
  const int spoke = lane % 8;

  float ask[kAsk];
  for (int i = 0; i < kAsk; ++i) ask[i] = float(q[long(row) * D + i * 8 + spoke]) * axle.scale;

  const long mask_row = batch * m_steps.batch + head * m_steps.head + token * m_steps.token;
  const float slope = use_slope ? slopes[head] : 1.0f;

  const int span  = (axle.keys + axle.splits - 1) / axle.splits;
  const int begin = split * span;
  int end = min(begin + span, count);
  if (use_causal) end = min(end, place + 1);

  Hub<kRim> hub;
  hub.clear();
  for (int base = begin; base < end; base += 4 * nsg) {
    const int key = base + wheel;
    const int safe = min(key, end - 1);
    long block = batch, inside = safe;
    if (use_pages) {
      block = block_table[batch * axle.page_slots + safe / axle.page_keys];
      inside = safe % axle.page_keys;
    }
    const device T* key_row = k + block * k_steps.block + kv * k_steps.head + inside * k_steps.key;
    float score = 0.0f;
    for (int i = 0; i < kAsk; ++i) score += ask[i] * float(key_row[i * 8 + spoke]);
    score = wheel_sum(score);
    if (use_bytes) score = byte_mask[mask_row + safe] != 0 ? score : -INFINITY;
    if (use_bias) score += slope * float(bias_mask[mask_row + safe]);
    if (key >= end) score = -INFINITY;

    if (score != -INFINITY) {
      const float top = max(hub.peak, score);
      const float keep = hub.against(top);
      const float weight = exp(score - top);
      const device T* value_row = v + block * v_steps.block + kv * v_steps.head + inside * v_steps.key;
      for (int i = 0; i < kRim; ++i) hub.rim[i] = hub.rim[i] * keep + weight * float(value_row[i * 8 + spoke]);
      hub.mass = hub.mass * keep + weight;
      hub.peak = top;
    }
  }

  hub.join(8);
  hub.join(16);

  threadgroup float* mine = yard + sg * kRecord;
  if (lane < 8) {
    for (int i = 0; i < kRim; ++i) mine[2 + i * 8 + spoke] = hub.rim[i];
    if (lane == 0) {
      mine[0] = hub.peak;
      mine[1] = hub.mass;
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);

  float top = -INFINITY;
  for (int s = 0; s < nsg; ++s) top = max(top, yard[s * kRecord]);

  device float* record = records + (long(row) * axle.splits + split) * kRecord;
  for (int c = sg * 32 + lane; c < V + 1; c += nsg * 32) {
    float sum = 0.0f;
    for (int s = 0; s < nsg; ++s) {
      const float peak = yard[s * kRecord];
      if (peak != -INFINITY) sum += exp(peak - top) * yard[s * kRecord + 1 + c];
    }
    record[1 + c] = sum;
  }
  if (sg == 0 && lane == 0) record[0] = top;
}

// A thread for each column of a row.
template <typename T, int V>
kernel void spokes_true(constant Axle& axle [[buffer(0)]],
                        const device float* records [[buffer(1)]],
                        const device float* sinks [[buffer(2), function_constant(use_sinks)]],
                        device T* out [[buffer(3)]],
                        device float* lse [[buffer(4)]],
                        uint row [[threadgroup_position_in_grid]],
                        uint column [[thread_position_in_threadgroup]]) {
  const device float* own = records + long(row) * axle.splits * (V + 2);
  const int head = row / axle.tokens % axle.heads;

  float top = -INFINITY, mass = 0.0f, sum = 0.0f;
  if (use_sinks) {
    top = sinks[head];
    mass = 1.0f;
  }
  for (int s = 0; s < axle.splits; ++s, own += V + 2) {
    const float peak = own[0];
    if (peak == -INFINITY) continue;
    const float next = max(top, peak);
    const float before = top == -INFINITY ? 0.0f : exp(top - next);
    const float here = exp(peak - next);
    mass = mass * before + own[1] * here;
    sum = sum * before + own[2 + column] * here;
    top = next;
  }
  out[long(row) * V + column] = T(mass > 0.0f ? sum / mass : 0.0f);
  if (column == 0) lse[row] = mass > 0.0f ? (top + log(mass)) * M_LOG2E_F : -INFINITY;
}

#define TURN(name, type, d, v)                                   \
  template [[host_name("spokes_turn_" #name "_" #d "_" #v)]]     \
  kernel decltype(spokes_turn<type, d, v>) spokes_turn<type, d, v>;
#define TRUE(name, type, v)                                      \
  template [[host_name("spokes_true_" #name "_" #v)]]            \
  kernel decltype(spokes_true<type, v>) spokes_true<type, v>;
#define WHEELS(name, type) TURN(name, type, 64, 64) TURN(name, type, 80, 80) TURN(name, type, 128, 128) TURN(name, type, 192, 128)
#define TRUES(name, type) TRUE(name, type, 64) TRUE(name, type, 80) TRUE(name, type, 128)

WHEELS(half, half)
WHEELS(bfloat, bfloat)
TRUES(half, half)
TRUES(bfloat, bfloat)
TRUES(float, float)
