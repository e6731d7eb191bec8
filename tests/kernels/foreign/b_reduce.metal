// Reductions of everything, of rows and of columns; small types meet in packed 32-bit atomics.
#include <metal_stdlib>
#include <metal_atomic>
#include <metal_simdgroup>

using namespace metal;

// 64 bits travel as two words.
#define SHUFFLE_DOWN_OF_WORDS(type)                                             \
  METAL_FUNC type simd_shuffle_down(type v, ushort by) {                        \
    return as_type<type>(metal::simd_shuffle_down(as_type<uint2>(v), by));      \
  }
SHUFFLE_DOWN_OF_WORDS(int64_t)
SHUFFLE_DOWN_OF_WORDS(uint64_t)

// Lanes meet through a function of the library where it has one, and by halves where it has none.
#define MEETING_OF_LANES(library_function)                                      \
  template <typename V>                                                         \
  METAL_FUNC enable_if_t<(sizeof(V) <= 4), V> simd_reduce(V mine) {             \
    return library_function(mine);                                              \
  }                                                                             \
  template <typename V>                                                         \
  METAL_FUNC enable_if_t<(sizeof(V) > 4), V> simd_reduce(V mine) {              \
    for (ushort by = 16; by != 0; by >>= 1) {                                   \
      mine = (*this)(simd_shuffle_down(mine, by), mine);                        \
    }                                                                           \
    return mine;                                                                \
  }

///////////////////////////////////////////////////////////////////////////////
// Atomics over small types
///////////////////////////////////////////////////////////////////////////////

template <typename T>
constexpr constant uint in_word = sizeof(uint) / sizeof(T);

// A word seen as the small elements that share it.
template <typename T>
union Shared {
  uint word;
  T parts[in_word<T>];
};

// Replaces one element by Op(it, value), until nobody else has changed the word in between.
template <typename Op, typename T>
METAL_FUNC void merge_into(device atomic_uint* words, uint element, T value) {
  device atomic_uint* home = words + element / in_word<T>;
  const uint part = element % in_word<T>;
  Shared<T> before, after;
  before.word = atomic_load_explicit(home, memory_order_relaxed);
  do {
    after.word = before.word;
    after.parts[part] = Op::merge(before.parts[part], value);
  } while (!atomic_compare_exchange_weak_explicit(
      home, &before.word, after.word, memory_order_relaxed, memory_order_relaxed));
}

///////////////////////////////////////////////////////////////////////////////
// Functors
///////////////////////////////////////////////////////////////////////////////

struct And {
  template <typename U>
  static constexpr U initial() {
    return U(true);
  }
  bool simd_reduce(bool val) {
    return simd_all(val);
  }
  bool operator()(bool a, bool b) {
    return a && b;
  }
  static bool merge(bool a, bool b) {
    return a && b;
  }
  // bytes of words: a byte is cleared by and with its complement
  void atomic_update(device atomic_uint* out, bool value, uint byte) {
    const uint cleared = insert_bits(~0u, 0u, 8 * (byte & 3), 8u);
    if (!value) {
      atomic_fetch_and_explicit(&out[byte >> 2], cleared, memory_order_relaxed);
    }
  }
};

struct Or {
  template <typename U>
  static constexpr U initial() {
    return U(false);
  }
  bool simd_reduce(bool val) {
    return simd_any(val);
  }
  bool operator()(bool a, bool b) {
    return a || b;
  }
  void atomic_update(device atomic_uint* out, bool value, uint byte) {
    atomic_fetch_or_explicit(&out[byte >> 2], uint(value) << (8 * (byte & 3)), memory_order_relaxed);
  }
};

template <typename U>
struct Sum {
  MEETING_OF_LANES(simd_sum)
  static constexpr constant U init = U(0);
  U operator()(U a, U b) {
    return a + b;
  }
  static U merge(U a, U b) {
    return a + b;
  }
};

template <typename U>
struct Prod {
  MEETING_OF_LANES(simd_product)
  static constexpr constant U init = U(1);
  U operator()(U a, U b) {
    return a * b;
  }
  static U merge(U a, U b) {
    return a * b;
  }
};

template <typename U>
struct Min {
  MEETING_OF_LANES(simd_min)
  static constexpr constant U init = metal::numeric_limits<U>::max();
  U operator()(U a, U b) {
    return a < b ? a : b;
  }
  static U merge(U a, U b) {
    return a < b ? a : b;
  }
};

template <typename U>
struct Max {
  MEETING_OF_LANES(simd_max)
  static constexpr constant U init = metal::numeric_limits<U>::lowest();
  U operator()(U a, U b) {
    return a > b ? a : b;
  }
  static U merge(U a, U b) {
    return a > b ? a : b;
  }
};

///////////////////////////////////////////////////////////////////////////////
// Kernels
///////////////////////////////////////////////////////////////////////////////

// One element for the whole array, updated by each threadgroup (`out` is initialised by the host).
template <typename T, typename U, typename Op, int N_READS = 4>
[[kernel]] void all_reduce_packed(
    const device T* in [[buffer(0)]],
    device atomic_uint* out [[buffer(1)]],
    const constant uint& in_size [[buffer(2)]],
    const constant uint& slot [[buffer(3)]],
    uint lid [[thread_index_in_threadgroup]],
    uint gid [[thread_position_in_grid]],
    uint grid [[threads_per_grid]],
    uint lanes [[thread_index_in_simdgroup]],
    uint group [[simdgroup_index_in_threadgroup]],
    uint groups [[simdgroups_per_threadgroup]]) {
  threadgroup U shared_vals[32];
  Op op;
  U total = Op::init;
  for (uint base = gid * N_READS; base < in_size; base += grid * N_READS) {
#pragma unroll
    for (int i = 0; i < N_READS; i++) {
      if (base + i < in_size) {
        total = op(total, static_cast<U>(in[base + i]));
      }
    }
  }
  total = op.simd_reduce(total);
  if (lanes == 0) {
    shared_vals[group] = total;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (lid == 0) {
    for (uint g = 1; g < groups; g++) {
      total = op(total, shared_vals[g]);
    }
    merge_into<Op>(out, slot, total);
  }
}

template <typename Op, int N_READS = 4>
[[kernel]] void all_reduce_bool(
    const device uchar* in [[buffer(0)]],
    device atomic_uint* out [[buffer(1)]],
    const constant uint& row_size [[buffer(2)]],
    uint lid [[thread_position_in_threadgroup]],
    uint row [[threadgroup_position_in_grid]],
    uint lsize [[threads_per_threadgroup]],
    uint lane [[thread_index_in_simdgroup]]) {
  Op op;
  bool total = Op::template initial<bool>();
  in += row * row_size;
  for (uint i = lid; i < row_size; i += lsize) {
    total = op(total, in[i] != 0);
  }
  total = op.simd_reduce(total);
  if (lane == 0) {
    op.atomic_update(out, total, row);
  }
}

template <typename T, typename U, typename Op, int N_WRITES = 2>
[[kernel]] void row_reduce(
    const device T* in [[buffer(0)]],
    device U* out [[buffer(1)]],
    const constant size_t& row_size [[buffer(2)]],
    const constant size_t& out_size [[buffer(3)]],
    uint tid [[threadgroup_position_in_grid]],
    uint lid [[thread_position_in_threadgroup]],
    uint lsize [[threads_per_threadgroup]],
    uint lane [[thread_index_in_simdgroup]],
    uint simd_id [[simdgroup_index_in_threadgroup]],
    uint simds [[simdgroups_per_threadgroup]]) {
  threadgroup U shared_vals[32 * N_WRITES];
  const device T* rows[N_WRITES];
  U totals[N_WRITES];
  Op op;
  // the last rows overlap: a repeated row is reduced but not written twice
  const size_t first = size_t(tid) * N_WRITES;
  for (int i = 0; i < N_WRITES; i++) {
    totals[i] = Op::init;
    rows[i] = in + min(first + i, out_size - 1) * row_size;
  }
  for (size_t e = lid; e < row_size; e += lsize) {
    for (int i = 0; i < N_WRITES; i++) {
      totals[i] = op(static_cast<U>(rows[i][e]), totals[i]);
    }
  }
  for (int i = 0; i < N_WRITES; i++) {
    totals[i] = op.simd_reduce(totals[i]);
  }
  if (lane == 0) {
    for (int i = 0; i < N_WRITES; i++) {
      shared_vals[simd_id * N_WRITES + i] = totals[i];
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (simd_id == 0) {
    for (int i = 0; i < N_WRITES; i++) {
      U v = lane < simds ? shared_vals[lane * N_WRITES + i] : Op::init;
      v = op.simd_reduce(v);
      if (lane == 0 && first + i < out_size) {
        out[first + i] = v;
      }
    }
  }
}

template <typename T, typename U, typename Op, int BM, int BN>
[[kernel]] void col_reduce(
    const device T* in [[buffer(0)]],
    device U* out [[buffer(1)]],
    const constant int& reduction_size [[buffer(2)]],
    const constant int& reduction_stride [[buffer(3)]],
    uint3 gid [[threadgroup_position_in_grid]],
    uint3 lid [[thread_position_in_threadgroup]]) {
  threadgroup U tile[BM][BN + 1];
  Op op;
  const int column = gid.x * BN + lid.x;
  U total = Op::init;
  if (column < reduction_stride) {
    in += size_t(gid.y) * reduction_size * reduction_stride + column;
    for (int r = lid.y; r < reduction_size; r += BM) {
      total = op(total, static_cast<U>(in[r * reduction_stride]));
    }
  }
  tile[lid.y][lid.x] = total;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (int half_ = BM / 2; half_ > 0; half_ /= 2) {
    if (int(lid.y) < half_) {
      tile[lid.y][lid.x] = op(tile[lid.y][lid.x], tile[lid.y + half_][lid.x]);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  if (lid.y == 0 && column < reduction_stride) {
    out[gid.y * reduction_stride + column] = tile[0][lid.x];
  }
}

#define instantiate_kernel(name, func, ...) \
  template [[host_name(name)]] [[kernel]] decltype(func<__VA_ARGS__>) func<__VA_ARGS__>;

#define instantiate_all_packed(op, type) \
  instantiate_kernel("all_reduce_" #op "_" #type, all_reduce_packed, type, type, op<type>)
#define instantiate_row(op, itype, otype) \
  instantiate_kernel("row_reduce_" #op "_" #itype, row_reduce, itype, otype, op<otype>)
#define instantiate_col(op, itype, otype) \
  instantiate_kernel("col_reduce_" #op "_" #itype, col_reduce, itype, otype, op<otype>, 8, 32)

instantiate_all_packed(Sum, short)
instantiate_all_packed(Max, ushort)
instantiate_all_packed(Min, half)
instantiate_all_packed(Sum, float)
instantiate_kernel("all_reduce_and", all_reduce_bool, And)
instantiate_kernel("all_reduce_or", all_reduce_bool, Or)
instantiate_row(Sum, int64_t, int64_t)
instantiate_row(Sum, bfloat, float)
instantiate_row(Prod, int32_t, int32_t)
instantiate_row(Min, float, float)
instantiate_row(Max, uint64_t, uint64_t)
instantiate_row(Sum, uint8_t, uint32_t)
instantiate_col(Sum, half, float)
instantiate_col(Max, int64_t, int64_t)
instantiate_col(Prod, uint32_t, uint32_t)
instantiate_col(Min, int16_t, int16_t)
