// Corral: a threadgroup owns one key/value head and pens up to eight of the query rows that read it, whichever query head and token they
// belong to. Keys, and then values, are unpacked 32 at a time into one shared pen; a simdgroup herds two rows, one key a lane.

#include <metal_stdlib>
using namespace metal;

constant bool kCausal [[function_constant(1)]];
constant bool kWindow [[function_constant(2)]];
constant bool kRing   [[function_constant(3)]];
constant bool kCapped [[function_constant(4)]];
constant bool kSinks  [[function_constant(5)]];

struct Herd {
  int   q_heads;
  int   kv_heads;
  int   tokens;
  int   longest;        // keys of the longest batch
  int   reach;          // keys in the window
  int   shift;          // position of token 0
  int   counts_back;    // positions are relative to the end of each batch
  int   ring_first;
  int   ring_slots;
  float scale;
  float cap;
  ulong q_step[3];      // bytes: batch, head, token
  ulong k_step[3];
  ulong v_step[3];
  ulong o_step[3];
};

constexpr constant int kRows  = 8;
constexpr constant int kPen   = 32;
constexpr constant int kCrew  = 128;
constexpr constant int kTeams = kCrew / 32;
constexpr constant int kEach  = kRows / kTeams;

// ---- storage formats: four neighbouring coordinates of a row ----

struct in_half {
  static float4 four(device const uchar* row, int c) {
    device const half* x = (device const half*)row + c;
    return float4(x[0], x[1], x[2], x[3]);
  }
};

struct in_q8_0 {
  static float4 four(device const uchar* row, int c) {
    device const uchar* cell = row + c / 32 * 34;
    const float unit = *(device const half*)cell;
    device const char* x = (device const char*)(cell + 2) + c % 32;
    return unit * float4(x[0], x[1], x[2], x[3]);
  }
};

// Coordinate i of a cell is the low half of byte i, coordinate i + 16 the high one.
static inline float4 nibbles(device const uchar* bytes, int at) {
  device const uchar* x = bytes + at % 16;
  const ushort down = at < 16 ? 0 : 4;
  return float4((x[0] >> down) & 15, (x[1] >> down) & 15, (x[2] >> down) & 15, (x[3] >> down) & 15);
}

struct in_q4_0 {
  static float4 four(device const uchar* row, int c) {
    device const uchar* cell = row + c / 32 * 18;
    const float unit = *(device const half*)cell;
    return unit * (nibbles(cell + 2, c % 32) - 8.0f);
  }
};

struct in_q4_1 {
  static float4 four(device const uchar* row, int c) {
    device const uchar* cell = row + c / 32 * 20;
    const float unit = ((device const half*)cell)[0];
    const float base = ((device const half*)cell)[1];
    return unit * nibbles(cell + 4, c % 32) + base;
  }
};

static inline ulong slot_of(constant Herd& herd, int key) {
  return kRing ? (herd.ring_first + key) % herd.ring_slots : key;
}

// Unpacks keys from .. from + 31 of a head; those from `count` on become zero.
template <typename Format, int D>
static inline void drive_in(threadgroup float4* pen, device const uchar* head, ulong step, constant Herd& herd, int from, int count,
                            int worker) {
  for (int e = worker; e < kPen * D / 4; e += kCrew) {
    const int key = from + e / (D / 4);
    const int c = e % (D / 4) * 4;
    pen[e] = key < count ? Format::four(head + slot_of(herd, key) * step, c) : float4(0.0f);
  }
}

template <typename T, typename KFormat, typename VFormat, int D>
kernel void corral(constant Herd& herd [[buffer(0)]],
                   device const uchar* q [[buffer(1)]],
                   device const uchar* k [[buffer(2)]],
                   device const uchar* v [[buffer(3)]],
                   device uchar* out [[buffer(4)]],
                   device const int* kv_len [[buffer(5)]],
                   device const float* sinks [[buffer(6), function_constant(kSinks)]],
                   uint3 where [[threadgroup_position_in_grid]],
                   uint worker [[thread_index_in_threadgroup]],
                   uint lane [[thread_index_in_simdgroup]],
                   uint team [[simdgroup_index_in_threadgroup]]) {
  constexpr int kCols = D / 32;
  threadgroup float4 pen[kPen * D / 4];
  threadgroup float  asked[kRows * D];
  threadgroup float  weights[kRows * kPen];

  const int kv_head = where.y;
  const int batch   = where.z;
  const int share   = herd.q_heads / herd.kv_heads;
  const int all     = share * herd.tokens;
  const int row0    = where.x * kRows;
  const int rows    = min(kRows, all - row0);
  const int count   = kv_len[batch];
  const int shift   = herd.shift - (herd.counts_back ? herd.longest - count : 0);

  device const uchar* k_head = k + batch * herd.k_step[0] + kv_head * herd.k_step[1];
  device const uchar* v_head = v + batch * herd.v_step[0] + kv_head * herd.v_step[1];

  for (int e = worker; e < kRows * D; e += kCrew) {
    const int row = row0 + e / D;
    float x = 0.0f;
    if (row < all) {
      const int token = row / share;
      const int head  = kv_head * share + row % share;
      x = float(((device const T*)(q + batch * herd.q_step[0] + head * herd.q_step[1] + token * herd.q_step[2]))[e % D]);
    }
    asked[e] = x * herd.scale;
  }

  float peak[kEach], mass[kEach], acc[kEach][kCols];
  for (int r = 0; r < kEach; ++r) {
    const int row = row0 + r * kTeams + team;
    peak[r] = -INFINITY;
    mass[r] = 0.0f;
    if (kSinks && row < all) {
      peak[r] = sinks[kv_head * share + row % share];
      mass[r] = 1.0f;
    }
    for (int i = 0; i < kCols; ++i) acc[r][i] = 0.0f;
  }

  // The keys that any of the rows may see.
  int low = 0, high = count;
  if (kCausal) high = min(count, (row0 + rows - 1) / share + shift + 1);
  if (kWindow) low = max(0, row0 / share + shift - herd.reach + 1) / kPen * kPen;

  for (int from = low; from < high; from += kPen) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    drive_in<KFormat, D>(pen, k_head, herd.k_step[2], herd, from, count, worker);
    threadgroup_barrier(mem_flags::mem_threadgroup);

    for (int r = 0; r < kEach; ++r) {
      const int slot = r * kTeams + team;
      const int place = (row0 + slot) / share + shift;
      const int key = from + lane;
      float score = 0.0f;
      for (int c = 0; c < D / 4; ++c) {
        score += dot(((threadgroup float4*)asked)[slot * (D / 4) + c], pen[lane * (D / 4) + c]);
      }
      if (kCapped) score = herd.cap * precise::tanh(score / herd.cap);
      bool seen = key < count;
      if (kCausal) seen = seen && key <= place;
      if (kWindow) seen = seen && key > place - herd.reach;
      if (!seen) score = -INFINITY;

      const float next = max(peak[r], simd_max(score));
      float keep = 1.0f, weight = 0.0f;
      if (next != -INFINITY) {
        keep = exp(peak[r] - next);
        weight = exp(score - next);
      }
      peak[r] = next;
      mass[r] = mass[r] * keep + simd_sum(weight);
      for (int i = 0; i < kCols; ++i) acc[r][i] *= keep;
      weights[slot * kPen + lane] = weight;
    }

    threadgroup_barrier(mem_flags::mem_threadgroup);
    drive_in<VFormat, D>(pen, v_head, herd.v_step[2], herd, from, count, worker);
    threadgroup_barrier(mem_flags::mem_threadgroup);

    threadgroup const float* values = (threadgroup const float*)pen;
    for (int r = 0; r < kEach; ++r) {
      const int slot = r * kTeams + team;
      for (int j = 0; j < kPen; ++j) {
        const float weight = weights[slot * kPen + j];
        for (int i = 0; i < kCols; ++i) acc[r][i] += weight * values[j * D + i * 32 + lane];
      }
    }
  }

  for (int r = 0; r < kEach; ++r) {
    const int row = row0 + r * kTeams + team;
    if (row >= all) continue;
    const int token = row / share;
    const int head  = kv_head * share + row % share;
    device T* to = (device T*)(out + batch * herd.o_step[0] + head * herd.o_step[1] + token * herd.o_step[2]);
    const float share_of_one = mass[r] > 0.0f ? 1.0f / mass[r] : 0.0f;
    for (int i = 0; i < kCols; ++i) to[i * 32 + lane] = T(acc[r][i] * share_of_one);
  }
}

#define PEN(tn, t, kn, vn, d)                                     \
  template [[host_name("corral_" #tn "_" #kn "_" #vn "_" #d)]]    \
  kernel decltype(corral<t, in_##kn, in_##vn, d>) corral<t, in_##kn, in_##vn, d>;
#define PENS(tn, t, d) \
  PEN(tn, t, half, half, d) PEN(tn, t, q8_0, q8_0, d) PEN(tn, t, q4_0, q4_0, d) PEN(tn, t, q4_1, q4_1, d) \
  PEN(tn, t, half, q4_0, d) PEN(tn, t, q8_0, q4_0, d) PEN(tn, t, q4_1, q4_0, d)

PENS(float, float, 64)
PENS(float, float, 128)
PENS(half, half, 64)
PENS(half, half, 128)
