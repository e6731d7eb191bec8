// Inclusive and exclusive scans along rows: simdgroups scan, threadgroup memory carries.
#include <metal_stdlib>
#include <metal_simdgroup>

using namespace metal;

struct Complex {
  float re;
  float im;
  constexpr Complex() : re(0.0f), im(0.0f) {}
  constexpr Complex() threadgroup : re(0.0f), im(0.0f) {}
  constexpr Complex(float x, float y = 0.0f) : re(x), im(y) {}
};
METAL_FUNC Complex operator+(Complex a, Complex b) {
  a.re += b.re;
  a.im += b.im;
  return a;
}

///////////////////////////////////////////////////////////////////////////////
// simd functions for types that the library lacks
///////////////////////////////////////////////////////////////////////////////

// 64 bits travel as two words.
#define SIMD_MOVES_OF_WORDS(type)                                                                                \
  METAL_FUNC type simd_shuffle(type v, ushort lane) {                                                            \
    return as_type<type>(metal::simd_shuffle(as_type<uint2>(v), lane));                                          \
  }                                                                                                              \
  METAL_FUNC type simd_shuffle_and_fill_up(type v, type filler, ushort by) {                                     \
    return as_type<type>(metal::simd_shuffle_and_fill_up(as_type<uint2>(v), as_type<uint2>(filler), by));        \
  }
SIMD_MOVES_OF_WORDS(int64_t)
SIMD_MOVES_OF_WORDS(uint64_t)

METAL_FUNC Complex simd_shuffle(Complex z, ushort lane) {
  const float2 moved = metal::simd_shuffle(float2(z.re, z.im), lane);
  return Complex(moved.x, moved.y);
}
METAL_FUNC Complex simd_shuffle_and_fill_up(Complex z, Complex filler, ushort by) {
  z.re = metal::simd_shuffle_and_fill_up(z.re, filler.re, by);
  z.im = metal::simd_shuffle_and_fill_up(z.im, filler.im, by);
  return z;
}

METAL_FUNC bool simd_shuffle(bool flag, ushort lane) {
  return metal::simd_shuffle(ushort(flag), lane) != 0;
}
METAL_FUNC bool simd_shuffle_and_fill_up(bool flag, bool filler, ushort by) {
  return metal::simd_shuffle_and_fill_up(ushort(flag), ushort(filler), by) != 0;
}

///////////////////////////////////////////////////////////////////////////////
// What is accumulated
///////////////////////////////////////////////////////////////////////////////

// The part that the operators share: their identity, and scans in steps of 1, 2, 4, 8, 16 lanes.
#define SCAN_MEMBERS(type, start)                                               \
  static constexpr constant type identity = start;                             \
  METAL_FUNC type stepwise(type v) const {                                      \
    const type filler = identity;                                               \
    for (ushort by = 1; by < 32; by <<= 1) {                                    \
      v = (*this)(simd_shuffle_and_fill_up(v, filler, by), v);                  \
    }                                                                           \
    return v;                                                                   \
  }                                                                             \
  METAL_FUNC type up_to_lane_before(type v) const {                             \
    const type filler = identity;                                               \
    return simd_shuffle_and_fill_up(up_to_lane(v), filler, ushort(1));          \
  }

// Narrow types have a function in the library, wide ones have not.
#define SCAN_UP_TO_LANE(library_function)                                       \
  template <typename V>                                                         \
  METAL_FUNC enable_if_t<(sizeof(V) <= 4), V> up_to_lane(V v) const {           \
    return library_function(v);                                                 \
  }                                                                             \
  template <typename V>                                                         \
  METAL_FUNC enable_if_t<(sizeof(V) > 4), V> up_to_lane(V v) const {            \
    return stepwise(v);                                                         \
  }

template <typename U>
struct Adding {
  METAL_FUNC U operator()(U sum, U next) const {
    return sum + next;
  }
  SCAN_UP_TO_LANE(simd_prefix_inclusive_sum)
  SCAN_MEMBERS(U, U(0))
};

template <typename U>
struct Multiplying {
  METAL_FUNC U operator()(U product, U next) const {
    return product * next;
  }
  SCAN_UP_TO_LANE(simd_prefix_inclusive_product)
  SCAN_MEMBERS(U, U(1))
};

// Of truth values: all so far.
template <>
struct Multiplying<bool> {
  METAL_FUNC bool operator()(bool all, bool next) const {
    return all && next;
  }
  METAL_FUNC bool up_to_lane(bool v) const {
    return stepwise(v);
  }
  SCAN_MEMBERS(bool, true)
};

template <typename U>
struct Topping {
  METAL_FUNC U operator()(U top, U next) const {
    return next > top ? next : top;
  }
  METAL_FUNC U up_to_lane(U v) const {
    return stepwise(v);
  }
  SCAN_MEMBERS(U, metal::numeric_limits<U>::lowest())
};

///////////////////////////////////////////////////////////////////////////////
// Rows
///////////////////////////////////////////////////////////////////////////////

// A threadgroup has a row, and a thread RUN neighbours of it in each round.
template <typename T, typename U, typename Op, int RUN, bool inclusive, bool reverse>
[[kernel]] void scan_rows(
    const device T* in [[buffer(0)]],
    device U* out [[buffer(1)]],
    const constant size_t& row_length [[buffer(2)]],
    uint3 group [[threadgroup_position_in_grid]],
    uint3 me [[thread_position_in_threadgroup]],
    uint3 threads [[threads_per_threadgroup]],
    uint width [[threads_per_simdgroup]],
    uint lane [[thread_index_in_simdgroup]],
    uint simd [[simdgroup_index_in_threadgroup]]) {
  threadgroup U of_simd[32];
  const Op op{};
  const int length = int(row_length);
  const uint simds = threads.x / width;
  in += group.y * row_length;
  out += group.y * row_length;

  U carried = Op::identity;
  for (int start = 0; start < length; start += int(threads.x) * RUN) {
    const int first = start + int(me.x) * RUN;
    U held[RUN];
    U mine = Op::identity;
    for (int i = 0; i < RUN; i++) {
      const int at = first + i;
      held[i] = Op::identity;
      if (at < length) {
        held[i] = in[reverse ? length - 1 - at : at];
      }
      mine = op(mine, held[i]);
    }

    const U before_lane = op.up_to_lane_before(mine);
    if (lane + 1 == width) {
      of_simd[simd] = op(before_lane, mine);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    // each simdgroup scans the totals of all of them for itself
    U total = Op::identity;
    if (lane < simds) {
      total = of_simd[lane];
    }
    const U before_simd = op.up_to_lane_before(total);
    const U whole = op(before_simd, total);

    U running = op(op(carried, simd_shuffle(before_simd, ushort(simd))), before_lane);
    carried = op(carried, simd_shuffle(whole, ushort(simds - 1)));
    for (int i = 0; i < RUN && first + i < length; i++) {
      const int at = reverse ? length - 1 - (first + i) : first + i;
      const U next = op(running, held[i]);
      out[at] = inclusive ? next : running;
      running = next;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
}

#define instantiate_scan_as(name, itype, otype, op, inclusive, reverse, run)     \
  template [[host_name("contig_scan_" #name)]] [[kernel]] void                   \
  scan_rows<itype, otype, op<otype>, run, inclusive, reverse>(                   \
      const device itype* in [[buffer(0)]],                                      \
      device otype* out [[buffer(1)]],                                           \
      const constant size_t& row_length [[buffer(2)]],                           \
      uint3 group [[threadgroup_position_in_grid]],                              \
      uint3 me [[thread_position_in_threadgroup]],                               \
      uint3 threads [[threads_per_threadgroup]],                                 \
      uint width [[threads_per_simdgroup]],                                      \
      uint lane [[thread_index_in_simdgroup]],                                   \
      uint simd [[simdgroup_index_in_threadgroup]]);

#define instantiate_scans(name, itype, otype, op, run)                           \
  instantiate_scan_as(inclusive_##name, itype, otype, op, true, false, run)      \
  instantiate_scan_as(exclusive_##name, itype, otype, op, false, false, run)     \
  instantiate_scan_as(reverse_exclusive_##name, itype, otype, op, false, true, run)

instantiate_scans(sum_bool_int32, bool, int32_t, Adding, 4)
instantiate_scans(sum_int64_int64, int64_t, int64_t, Adding, 2)
instantiate_scans(sum_float32_float32, float, float, Adding, 4)
instantiate_scans(sum_complex64_complex64, Complex, Complex, Adding, 2)
instantiate_scans(prod_bool_bool, bool, bool, Multiplying, 4)
instantiate_scans(prod_float16_float16, half, half, Multiplying, 4)
instantiate_scan_as(inclusive_max_int32_int32, int32_t, int32_t, Topping, true, false, 4)
instantiate_scan_as(exclusive_max_int64_int64, int64_t, int64_t, Topping, false, false, 2)
