// Sums of rows and running sums, with types that the library's reductions do not know.
#include <metal_stdlib>
using namespace metal;

#define SIMD_SIZE 32

// ---------------------------------------------------------------- complex numbers

struct complex64_t {
  float real;
  float imag;

  complex64_t() thread = default;
  complex64_t() threadgroup = default;
  complex64_t() device = default;

  constexpr METAL_FUNC complex64_t(float r, float i = 0.0f) thread : real(r), imag(i) {}
};

METAL_FUNC complex64_t operator+(complex64_t a, complex64_t b) { return {a.real + b.real, a.imag + b.imag}; }
METAL_FUNC complex64_t operator*(complex64_t a, complex64_t b) {
  return {a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real};
}

inline complex64_t simd_shuffle_up(complex64_t data, ushort delta) {
  return complex64_t(metal::simd_shuffle_up(data.real, delta), metal::simd_shuffle_up(data.imag, delta));
}
inline complex64_t simd_shuffle_down(complex64_t data, ushort delta) {
  return complex64_t(metal::simd_shuffle_down(data.real, delta), metal::simd_shuffle_down(data.imag, delta));
}
inline complex64_t simd_broadcast(complex64_t data, ushort lane) {
  return complex64_t(metal::simd_broadcast(data.real, lane), metal::simd_broadcast(data.imag, lane));
}

inline long simd_shuffle_up(long data, ushort delta) {
  return as_type<long>(metal::simd_shuffle_up(as_type<uint2>(data), delta));
}
inline long simd_shuffle_down(long data, ushort delta) {
  return as_type<long>(metal::simd_shuffle_down(as_type<uint2>(data), delta));
}
inline long simd_broadcast(long data, ushort lane) {
  return as_type<long>(metal::simd_broadcast(as_type<uint2>(data), lane));
}

// ---------------------------------------------------------------- operations

template <typename U>
struct CumSum {
  METAL_FUNC static U init() { return U(0); }
  METAL_FUNC U operator()(U a, U b) const { return a + b; }
};
template <typename U>
struct CumProd {
  METAL_FUNC static U init() { return U(1); }
  METAL_FUNC U operator()(U a, U b) const { return a * b; }
};
template <typename U>
struct CumMax {
  METAL_FUNC static U init() { return metal::numeric_limits<U>::lowest(); }
  METAL_FUNC U operator()(U a, U b) const { return a < b ? b : a; }
};

// what the library has in hardware goes there
template <typename Op, typename U>
struct simd_scan {
  static U inclusive(Op op, U v, ushort lane) {
    for (ushort d = 1; d < SIMD_SIZE; d <<= 1) {
      const U o = simd_shuffle_up(v, d);
      v = lane >= d ? op(o, v) : v;
    }
    return v;
  }
};
template <>
struct simd_scan<CumSum<float>, float> {
  static float inclusive(CumSum<float>, float v, ushort) { return simd_prefix_inclusive_sum(v); }
};
template <>
struct simd_scan<CumProd<uint>, uint> {
  static uint inclusive(CumProd<uint>, uint v, ushort) { return simd_prefix_inclusive_product(v); }
};

// ---------------------------------------------------------------- scan of a row by a threadgroup

template <typename T, typename U, typename Op, int N_READS, bool inclusive, bool reverse>
[[kernel]] void contiguous_scan(
    const device T* in [[buffer(0)]],
    device U* out [[buffer(1)]],
    const constant size_t& axis_size [[buffer(2)]],
    uint gid [[threadgroup_position_in_grid]],
    uint lid [[thread_position_in_threadgroup]],
    uint lsize [[threads_per_threadgroup]],
    uint simd_lane [[thread_index_in_simdgroup]],
    uint simd_group [[simdgroup_index_in_threadgroup]],
    uint simd_groups [[simdgroups_per_threadgroup]]) {
  Op op;
  const U zero = Op::init();
  threadgroup U group_totals[SIMD_SIZE];

  in += gid * axis_size;
  out += gid * axis_size;

  U carry = zero;
  for (uint r = 0; r < axis_size; r += lsize * N_READS) {
    U values[N_READS];
    const uint first = r + lid * N_READS;
    for (int i = 0; i < N_READS; i++) {
      const uint at = first + i;
      values[i] = at < axis_size ? U(in[reverse ? axis_size - 1 - at : at]) : zero;
    }
    for (int i = 1; i < N_READS; i++) {
      values[i] = op(values[i - 1], values[i]);
    }
    const U through = simd_scan<Op, U>::inclusive(op, values[N_READS - 1], simd_lane);
    U before = simd_shuffle_up(through, 1);
    before = simd_lane == 0 ? zero : before;

    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (simd_lane == SIMD_SIZE - 1) {
      group_totals[simd_group] = through;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);

    U total = carry;
    for (uint g = 0; g < simd_groups; ++g) {
      if (g == simd_group) {
        before = op(total, before);
      }
      total = op(total, group_totals[g]);
    }
    carry = total;

    for (int i = 0; i < N_READS; i++) {
      const uint at = first + i;
      if (at < axis_size) {
        const U value = inclusive ? op(before, values[i]) : (i == 0 ? before : op(before, values[i == 0 ? 0 : i - 1]));
        out[reverse ? axis_size - 1 - at : at] = value;
      }
    }
  }
}

#define instantiate_scan(name, itype, otype, op, inclusive, reverse, nreads)                               \
  template [[host_name("scan_" #name)]] [[kernel]] void                                                    \
  contiguous_scan<itype, otype, op<otype>, nreads, inclusive, reverse>(                                    \
      const device itype* in [[buffer(0)]],                                                                \
      device otype* out [[buffer(1)]],                                                                     \
      const constant size_t& axis_size [[buffer(2)]],                                                      \
      uint gid [[threadgroup_position_in_grid]],                                                           \
      uint lid [[thread_position_in_threadgroup]],                                                         \
      uint lsize [[threads_per_threadgroup]],                                                              \
      uint simd_lane [[thread_index_in_simdgroup]],                                                        \
      uint simd_group [[simdgroup_index_in_threadgroup]],                                                  \
      uint simd_groups [[simdgroups_per_threadgroup]]);

#define instantiate_scan_helper(name, itype, otype, op, nreads)                              \
  instantiate_scan(inclusive_##name, itype, otype, op, true, false, nreads)                  \
  instantiate_scan(exclusive_##name, itype, otype, op, false, false, nreads)                 \
  instantiate_scan(reverse_inclusive_##name, itype, otype, op, true, true, nreads)

instantiate_scan_helper(sum_float32, float, float, CumSum, 4)
instantiate_scan_helper(sum_bool_int32, bool, int, CumSum, 4)
instantiate_scan_helper(prod_uint32, uint, uint, CumProd, 2)
instantiate_scan_helper(max_float16, half, half, CumMax, 4)
instantiate_scan_helper(sum_int64, int, long, CumSum, 2)
instantiate_scan_helper(sum_complex64, complex64_t, complex64_t, CumSum, 2)

// ---------------------------------------------------------------- sums and means of rows with strides

struct sum_rows_args {
    long  ne00, ne01, ne02, ne03;
    ulong nb01, nb02, nb03;
    ulong nb1, nb2, nb3;
};

enum op_sum_rows : short { OP_SUM_ROWS_SUM, OP_SUM_ROWS_MEAN };

template <typename T0, typename T, op_sum_rows OP>
kernel void kernel_sum_rows(
        constant sum_rows_args & args [[buffer(0)]],
        device const char * src0      [[buffer(1)]],
        device       char * dst       [[buffer(2)]],
        threadgroup  char * shmem     [[threadgroup(0)]],
        uint3   tgpig [[threadgroup_position_in_grid]],
        ushort3 tpitg [[thread_position_in_threadgroup]],
        ushort  sgitg [[simdgroup_index_in_threadgroup]],
        ushort  tiisg [[thread_index_in_simdgroup]],
        ushort3 ntg   [[threads_per_threadgroup]]) {
    threadgroup T * part = (threadgroup T *) shmem;

    device const T0 * src_row = (device const T0 *) (src0 + tgpig.x*args.nb01 + tgpig.y*args.nb02 + tgpig.z*args.nb03);
    device       T  * dst_row = (device       T  *) (dst  + tgpig.x*args.nb1  + tgpig.y*args.nb2  + tgpig.z*args.nb3);

    if (sgitg == 0) {
        part[tiisg] = T(0);
    }
    T sumf = T(0);
    for (long i0 = tpitg.x; i0 < args.ne00; i0 += ntg.x) {
        sumf += (T) src_row[i0];
    }
    sumf = simd_sum(sumf);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (tiisg == 0) {
        part[sgitg] = sumf;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    sumf = simd_sum(part[tiisg]);
    if (tpitg.x == 0) {
        if (OP == OP_SUM_ROWS_MEAN) {
            dst_row[0] = sumf/args.ne00;
        } else {
            dst_row[0] = sumf;
        }
    }
}

typedef decltype(kernel_sum_rows<float, float, OP_SUM_ROWS_SUM>) kernel_sum_rows_t;
template [[host_name("sum_rows_f32")]]     kernel kernel_sum_rows_t kernel_sum_rows<float, float, OP_SUM_ROWS_SUM>;
template [[host_name("mean_rows_f32")]]    kernel kernel_sum_rows_t kernel_sum_rows<float, float, OP_SUM_ROWS_MEAN>;
template [[host_name("sum_rows_f16")]]     kernel kernel_sum_rows_t kernel_sum_rows<half, float, OP_SUM_ROWS_SUM>;
template [[host_name("sum_rows_i8_i32")]]  kernel kernel_sum_rows_t kernel_sum_rows<char, int, OP_SUM_ROWS_SUM>;

// ---------------------------------------------------------------- products over a row of complex numbers, by halving

[[kernel]] void row_product_complex64(
    const device complex64_t* in [[buffer(0)]],
    device complex64_t* out [[buffer(1)]],
    constant uint& n [[buffer(2)]],
    uint row [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]]) {
  complex64_t p(1.0f);
  for (uint i = lane; i < n; i += SIMD_SIZE) {
    p = p * in[row * n + i];
  }
  for (ushort d = SIMD_SIZE / 2; d > 0; d /= 2) {
    p = p * simd_shuffle_down(p, d);
  }
  p = simd_broadcast(p, 0);
  if (lane == 0) {
    out[row] = p;
  }
}

// how many elements are equal: ballots and one atomic per simdgroup
[[kernel]] void count_equal_i32(
    const device int* a [[buffer(0)]],
    const device int* b [[buffer(1)]],
    device atomic_int* total [[buffer(2)]],
    constant uint& n [[buffer(3)]],
    uint gid [[thread_position_in_grid]]) {
  const bool same = gid < n && a[min(gid, n - 1)] == b[min(gid, n - 1)];
  const simd_vote vote = simd_ballot(same);
  const uint c = popcount(uint(static_cast<simd_vote::vote_t>(vote)));
  if (simd_is_first() && c > 0) {
    atomic_fetch_add_explicit(total, int(c), memory_order_relaxed);
  }
}
