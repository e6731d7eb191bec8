// Merge sort of a row in a threadgroup: own comparators and swap, values alone or with their indices.
#include <metal_stdlib>
#include <metal_atomic>

using namespace metal;

#define ORDER_CONSTANT static constant constexpr const
#define UNROLLED _Pragma("clang loop unroll(full)")

template <typename T, typename = void>
struct Highest {
  ORDER_CONSTANT T value = metal::numeric_limits<T>::max();
};
template <typename T>
struct Highest<T, metal::enable_if_t<metal::is_floating_point_v<T>>> {
  ORDER_CONSTANT T value = metal::numeric_limits<T>::infinity();
};

// `last` fills up a row that is shorter than its threadgroup.
template <typename T>
struct Ascending {
  ORDER_CONSTANT T last = Highest<T>::value;
  METAL_FUNC bool operator()(T left, T right) const {
    return left < right;
  }
};
template <typename T>
struct Descending {
  ORDER_CONSTANT T last = metal::numeric_limits<T>::lowest();
  METAL_FUNC bool operator()(T left, T right) const {
    return right < left;
  }
};

// What is moved: a value alone, or with the place that it came from.
template <typename T, bool placed>
struct Item {
  T value;
  METAL_FUNC void from(uint) thread {}
  template <typename U>
  METAL_FUNC U result() const threadgroup {
    return static_cast<U>(value);
  }
};
template <typename T>
struct Item<T, true> {
  T value;
  uint place;
  METAL_FUNC void from(uint place_) thread {
    place = place_;
  }
  template <typename U>
  METAL_FUNC U result() const threadgroup {
    return static_cast<U>(place);
  }
};

template <typename T>
METAL_FUNC void exchange(thread T& a, thread T& b) {
  const T kept = b;
  b = a;
  a = kept;
}

// Insertion, by exchanges: equals keep their order.
template <typename Order, typename T, bool placed, short COUNT>
METAL_FUNC void sort_few(thread Item<T, placed> (&items)[COUNT]) {
  const Order before{};
  UNROLLED
  for (short next = 1; next < COUNT; next++) {
    for (short at = next; at > 0 && before(items[at].value, items[at - 1].value); at--) {
      exchange(items[at], items[at - 1]);
    }
  }
}

// How many of a sorted run come before a value; `yielding`: among equals the run comes first.
template <typename Order, typename T, bool placed>
METAL_FUNC short rank_in(const threadgroup Item<T, placed>* run, short length, T value, bool yielding) {
  const Order before{};
  short low = 0;
  for (short high = length; low < high;) {
    const short middle = short(low + high) / 2;
    const T other = run[middle].value;
    const bool earlier = yielding ? !before(value, other) : before(other, value);
    if (earlier) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// Runs double in length: each element finds its place in the merged run by its rank in the neighbouring one.
template <
    typename T,
    typename U,
    bool placed,
    short THREADS,
    short EACH,
    template <typename> class Order = Ascending>
[[kernel, max_total_threads_per_threadgroup(THREADS)]] void row_sort(
    const device T* in [[buffer(0)]],
    device U* out [[buffer(1)]],
    const constant int& size [[buffer(2)]],
    const constant int& step [[buffer(3)]],
    const constant int& row_step [[buffer(4)]],
    uint3 group [[threadgroup_position_in_grid]],
    uint3 me [[thread_position_in_threadgroup]]) {
  using order = Order<T>;
  constexpr short TOTAL = THREADS * EACH;
  threadgroup Item<T, placed> sorted[TOTAL];
  const short mine = me.x * EACH;
  in += group.y * row_step;
  out += group.y * row_step;

  Item<T, placed> held[EACH];
  for (short i = 0; i < EACH; i++) {
    const int at = mine + i;
    held[i].value = at < size ? in[at * step] : T(order::last);
    held[i].from(at);
  }
  sort_few<order>(held);
  for (short i = 0; i < EACH; i++) {
    sorted[mine + i] = held[i];
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);

  for (short length = EACH; length < TOTAL; length *= 2) {
    const short own_run = mine / length * length;
    const bool second = (own_run / length) & 1;
    const short neighbour = second ? own_run - length : own_run + length;
    const short merged = second ? neighbour : own_run;
    short to[EACH];
    for (short i = 0; i < EACH; i++) {
      const short rank = rank_in<order>(&sorted[neighbour], length, held[i].value, second);
      to[i] = merged + (mine - own_run) + i + rank;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (short i = 0; i < EACH; i++) {
      sorted[to[i]] = held[i];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (short i = 0; i < EACH; i++) {
      held[i] = sorted[mine + i];
    }
  }
  for (int at = me.x; at < size; at += THREADS) {
    out[at * step] = sorted[at].template result<U>();
  }
}

#define instantiate_sort(name, itype, otype, placed, threads, each, order)                                   \
  template [[host_name(name "_" #itype "_bn" #threads "_tn" #each)]] [[kernel]] decltype(                    \
      row_sort<itype, otype, placed, threads, each, order>) row_sort<itype, otype, placed, threads, each, order>;

#define instantiate_sorts(itype, threads, each)                                       \
  instantiate_sort("sort", itype, itype, false, threads, each, Ascending)             \
  instantiate_sort("argsort", itype, uint32_t, true, threads, each, Ascending)

instantiate_sorts(uint8_t, 64, 4)
instantiate_sorts(int16_t, 32, 8)
instantiate_sorts(int32_t, 128, 4)
instantiate_sorts(half, 64, 4)
instantiate_sorts(float, 64, 4)
instantiate_sorts(int64_t, 32, 4)
instantiate_sort("sort_down", float, float, false, 64, 4, Descending)
instantiate_sort("argsort_down", int32_t, uint32_t, true, 64, 4, Descending)
