// Decode attention for grouped heads. A threadgroup owns one key/value head, one query token and one slice of the keys, and answers every
// query head of the group in turn. Four lanes form a team that scores a key; a simdgroup scores eight keys at once. Slices meet in `join_slices`.

#include <metal_stdlib>

using namespace metal;

constant bool kCausal [[function_constant(1)]];
constant bool kWindow [[function_constant(2)]];
constant bool kCapped [[function_constant(3)]];
constant bool kSink   [[function_constant(4)]];
constant bool kTailed [[function_constant(5)]];   // positions count from the end of each sequence

// A cache of `rows` rows per head, whose oldest key is in row `begin`.
struct Store {
  uint  begin;
  uint  rows;
  ulong token_step;
  ulong head_step;
  ulong batch_step;
};

struct Problem {
  uint  tokens;
  uint  heads;
  uint  groups;
  uint  longest;
  uint  slices;
  int   shift;     // position of token 0
  int   window;
  float scale;
  float cap;
  Store keys;
  Store vals;
};

struct Range {
  int lo;
  int hi;
};

// An online softmax: largest score, and the sum of weights relative to it.
struct Tally {
  float peak = -INFINITY;
  float mass = 0.0f;

  // Takes a new peak; returns what everything collected so far is worth.
  float raise(float score) {
    const float higher = max(peak, score);
    const float worth  = peak == -INFINITY ? 0.0f : exp(peak - higher);
    peak = higher;
    mass *= worth;
    return worth;
  }
};

static inline ulong row_of(constant Store& store, uint key) {
  const uint row = store.begin + key;
  return ulong(row < store.rows ? row : row - store.rows) * store.token_step;
}

// Keys that the token may see, cut to the slice.
static inline Range visible(constant Problem& p, int token, int length, uint slice) {
  const int position = token + p.shift - (kTailed ? int(p.longest) - length : 0);
  Range range = {0, length};
  if (kCausal) {
    range.hi = min(range.hi, position + 1);
  }
  if (kWindow) {
    range.lo = max(range.lo, position - p.window + 1);
  }
  const int share = (length + int(p.slices) - 1) / int(p.slices);
  range.lo = max(range.lo, int(slice) * share);
  range.hi = min(range.hi, int(slice + 1) * share);
  return range;
}

template <typename T, ushort D>
static inline float team_dot(const device T* row, threadgroup const float* query, ushort member) {
  float a = 0.0f, b = 0.0f;
  for (ushort c = member; c < D; c += 8) {
    a += query[c] * float(row[c]);
    b += query[c + 4] * float(row[c + 4]);
  }
  a += b;
  a += simd_shuffle_xor(a, 1);
  a += simd_shuffle_xor(a, 2);
  return a;
}

// Arena: the scaled query | per simdgroup its peak, its mass and D sums.
template <typename T, ushort D>
kernel void grouped_decode(constant Problem& p [[buffer(0)]],
                           const device T* q [[buffer(1)]],
                           const device T* k [[buffer(2)]],
                           const device T* v [[buffer(3)]],
                           const device int* kv_len [[buffer(4)]],
                           device float* part_rows [[buffer(5)]],
                           device float2* part_tally [[buffer(6)]],
                           threadgroup float* arena [[threadgroup(0)]],
                           uint3 tg [[threadgroup_position_in_grid]],
                           ushort lane [[thread_index_in_simdgroup]],
                           ushort simd [[simdgroup_index_in_threadgroup]],
                           ushort simds [[simdgroups_per_threadgroup]]) {
  constexpr ushort kOwn  = D / 32;
  constexpr ushort kCell = D + 2;
  const uint slice = tg.x;
  const uint group = tg.y;
  const uint token = tg.z % p.tokens;
  const uint batch = tg.z / p.tokens;
  const uint width = p.heads / p.groups;
  const Range range = visible(p, int(token), kv_len[batch], slice);
  const ushort team = lane / 4, member = lane % 4;
  const ushort id = simd * 32 + lane;

  const device T* k_base = k + batch * p.keys.batch_step + group * p.keys.head_step;
  const device T* v_base = v + batch * p.vals.batch_step + group * p.vals.head_step;
  threadgroup float* cells = arena + D;
  threadgroup float* mine  = cells + simd * kCell;

  for (uint r = 0; r < width; ++r) {
    const uint head = group * width + r;
    const ulong line = (ulong(batch) * p.heads + head) * p.tokens + token;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (ushort c = id; c < D; c += simds * 32) {
      arena[c] = p.scale * float(q[line * D + c]);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);

    Tally tally;
    float sums[kOwn] = {};
    for (int base = range.lo + simd * 8; base < range.hi; base += simds * 8) {
      const int key = base + team;
      const bool live = key < range.hi;
      const float product = team_dot<T, D>(k_base + row_of(p.keys, live ? key : base), arena, member);
      const float capped = kCapped ? p.cap * precise::tanh(product / p.cap) : product;
      const float score = live ? capped : -INFINITY;
      const float worth = tally.raise(simd_max(score));
      const float weight = live ? exp(score - tally.peak) : 0.0f;
      tally.mass += simd_sum(member == 0 ? weight : 0.0f);
      for (ushort i = 0; i < kOwn; ++i) {
        sums[i] *= worth;
      }
      const ushort count = min(8, range.hi - base);
      for (ushort t = 0; t < count; ++t) {
        const float w = simd_shuffle(weight, t * 4);
        const device T* row = v_base + row_of(p.vals, base + t);
        for (ushort i = 0; i < kOwn; ++i) {
          sums[i] += w * float(row[i * 32 + lane]);
        }
      }
    }

    if (lane == 0) {
      mine[0] = tally.peak;
      mine[1] = tally.mass;
    }
    for (ushort i = 0; i < kOwn; ++i) {
      mine[2 + i * 32 + lane] = sums[i];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);

    Tally all;
    for (ushort s = 0; s < simds; ++s) {
      all.peak = max(all.peak, cells[s * kCell]);
    }
    const ulong place = line * p.slices + slice;
    for (ushort c = id; c < D; c += simds * 32) {
      float sum = 0.0f;
      for (ushort s = 0; s < simds; ++s) {
        const float peak = cells[s * kCell];
        sum += peak == -INFINITY ? 0.0f : exp(peak - all.peak) * cells[s * kCell + 2 + c];
      }
      part_rows[place * D + c] = sum;
    }
    if (id == 0) {
      for (ushort s = 0; s < simds; ++s) {
        const float peak = cells[s * kCell];
        all.mass += peak == -INFINITY ? 0.0f : exp(peak - all.peak) * cells[s * kCell + 1];
      }
      part_tally[place] = float2(all.peak, all.mass);
    }
  }
}

// One simdgroup for each row of the output.
template <typename T, ushort D>
kernel void join_slices(constant Problem& p [[buffer(0)]],
                        const device float* part_rows [[buffer(1)]],
                        const device float2* part_tally [[buffer(2)]],
                        const device float* sinks [[buffer(3), function_constant(kSink)]],
                        device T* out [[buffer(4)]],
                        uint line [[threadgroup_position_in_grid]],
                        ushort lane [[thread_index_in_simdgroup]]) {
  const uint head = line / p.tokens % p.heads;
  const device float2* tallies = part_tally + ulong(line) * p.slices;
  Tally all;
  for (uint s = 0; s < p.slices; ++s) {
    all.raise(tallies[s].x);
    all.mass += tallies[s].x == -INFINITY ? 0.0f : tallies[s].y * exp(tallies[s].x - all.peak);
  }
  if (kSink) {
    all.raise(sinks[head]);
    all.mass += exp(sinks[head] - all.peak);
  }
  for (ushort c = lane; c < D; c += 32) {
    float sum = 0.0f;
    for (uint s = 0; s < p.slices; ++s) {
      const float worth = tallies[s].x == -INFINITY ? 0.0f : exp(tallies[s].x - all.peak);
      sum += worth * part_rows[(ulong(line) * p.slices + s) * D + c];
    }
    out[ulong(line) * D + c] = T(all.mass > 0.0f ? sum / all.mass : 0.0f);
  }
}

#define MAKE(T, D) \
  template [[host_name("grouped_decode_" #T "_" #D)]] kernel decltype(grouped_decode<T, D>) grouped_decode<T, D>; \
  template [[host_name("join_slices_" #T "_" #D)]] kernel decltype(join_slices<T, D>) join_slices<T, D>;
MAKE(half, 64) MAKE(half, 128) MAKE(bfloat, 64) MAKE(bfloat, 128)
