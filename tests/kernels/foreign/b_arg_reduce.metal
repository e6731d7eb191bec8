// argmin / argmax of rows with strides, through pairs of an index and a value.
#include <metal_stdlib>
#include <metal_simdgroup>

using namespace metal;

constant constexpr uint kNowhere = ~0u;

// Which of two values is wanted, and what loses to (or ties with) every value.
template <typename V>
struct WantSmall {
  static constexpr constant V worst = metal::numeric_limits<V>::max();
  METAL_FUNC bool operator()(V challenger, V holder) const {
    return challenger < holder;
  }
};
template <typename V>
struct WantLarge {
  static constexpr constant V worst = metal::numeric_limits<V>::lowest();
  METAL_FUNC bool operator()(V challenger, V holder) const {
    return challenger > holder;
  }
};

// A value and where it was found; nothing yet is found `kNowhere`, behind every true position.
template <typename V>
struct Located {
  V value;
  uint where;
};

// The library has no shuffle of bfloat: its bits travel.
template <typename V>
V exchanged(V mine, ushort mask) {
  return metal::simd_shuffle_xor(mine, mask);
}
#ifdef __HAVE_BFLOAT__
template <>
bfloat exchanged<bfloat>(bfloat mine, ushort mask) {
  return as_type<bfloat>(metal::simd_shuffle_xor(as_type<ushort>(mine), mask));
}
#endif

template <typename V>
Located<V> simd_shuffle_xor(Located<V> mine, ushort mask) {
  Located<V> theirs;
  theirs.where = metal::simd_shuffle_xor(mine.where, mask);
  theirs.value = exchanged(mine.value, mask);
  return theirs;
}

template <typename V, template <typename> class Want>
struct Contest {
  using Entry = Located<V>;

  static METAL_FUNC Entry nobody() {
    return Entry{Want<V>::worst, kNowhere};
  }

  // Of equal values the one that comes first in the row stays.
  static METAL_FUNC void challenge(thread Entry& holder, Entry other) {
    Want<V> better;
    const bool ahead = better(other.value, holder.value);
    const bool behind = better(holder.value, other.value);
    if (ahead || (!behind && other.where < holder.where)) {
      holder = other;
    }
  }

  // A butterfly: afterwards each lane has the winner of the simdgroup.
  static METAL_FUNC Entry winner(Entry entry, uint width) {
    for (ushort mask = 1; mask < width; mask <<= 1) {
      challenge(entry, simd_shuffle_xor(entry, mask));
    }
    return entry;
  }
};

// Where the row with this number begins; the last of the `rank` axes changes fastest.
METAL_FUNC int64_t row_start(uint number, const constant int* extents, const constant int64_t* steps, int rank) {
  int64_t at = 0;
  uint rest = number;
  while (rank > 0) {
    rank--;
    const uint extent = extents[rank];
    const uint outer = rest / extent;
    at += int64_t(rest - outer * extent) * steps[rank];
    rest = outer;
  }
  return at;
}

template <typename T, template <typename> class Want, int RUN = 4>
[[kernel]] void arg_search(
    const device T* in [[buffer(0)]],
    device uint32_t* out [[buffer(1)]],
    const constant int* extents [[buffer(2)]],
    const constant int64_t* steps [[buffer(3)]],
    const constant int& rank [[buffer(5)]],
    const constant int64_t& step [[buffer(6)]],
    const constant size_t& length [[buffer(7)]],
    uint3 group [[threadgroup_position_in_grid]],
    uint3 thread_at [[thread_position_in_threadgroup]],
    uint3 threads [[threads_per_threadgroup]],
    uint width [[threads_per_simdgroup]],
    uint lane [[thread_index_in_simdgroup]],
    uint simd [[simdgroup_index_in_threadgroup]],
    uint simds [[simdgroups_per_threadgroup]]) {
  using contest = Contest<T, Want>;
  threadgroup Located<T> winners[32];

  const device T* row = in + row_start(group.y, extents, steps, rank);
  const uint size = uint(length);
  auto best = contest::nobody();
  for (uint first = thread_at.x * RUN; first < size; first += threads.x * RUN) {
    const uint count = min(uint(RUN), size - first);
    for (uint i = 0; i < count; i++) {
      contest::challenge(best, Located<T>{row[(first + i) * step], first + i});
    }
  }
  best = contest::winner(best, width);
  if (lane == 0) {
    winners[simd] = best;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (simd == 0) {
    best = contest::nobody();
    if (lane < simds) {
      best = winners[lane];
    }
    best = contest::winner(best, width);
    if (simd_is_first()) {
      out[group.y] = best.where;
    }
  }
}

// clang-format off
#define instantiate_search(host, type, want) \
  template [[host_name(host)]] [[kernel]] decltype(arg_search<type, want>) arg_search<type, want>;
#define instantiate_searches(name, type) \
  instantiate_search("argmin_" #name, type, WantSmall) instantiate_search("argmax_" #name, type, WantLarge)

instantiate_searches(uint8, uint8_t)
instantiate_searches(int16, int16_t)
instantiate_searches(int32, int32_t)
instantiate_searches(float16, half)
instantiate_searches(float32, float)
instantiate_searches(bfloat16, bfloat)
// clang-format on
