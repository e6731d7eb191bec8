// Matrix times vector in blocks: rows across simdgroups, columns across lanes; and the transposed product.
#include <metal_stdlib>
#include <metal_simdgroup>

using namespace metal;

#define CLASS_CONSTANT static constant constexpr const

template <typename U>
struct SumOf {
  using type = float;
};
template <>
struct SumOf<int> {
  using type = int;
};

template <
    typename T,
    const int BM, /* simdgroups along the rows */
    const int SN, /* lanes along the columns */
    const int TM, /* rows of a thread */
    const int TN, /* columns of a thread */
    const bool kDoAxpby,
    typename AccT = typename SumOf<T>::type>
struct RowBlock {
  using acc_type = AccT;

  CLASS_CONSTANT int in_block = BM * (32 / SN) * TM;
  CLASS_CONSTANT int across = SN * TN;

  static_assert(SN == 4 || SN == 8 || SN == 16 || SN == 32, "lanes along the columns");

  // TN neighbours, with zeros from `size` on
  template <typename U>
  static METAL_FUNC void fetch(const device T* row, thread U (&to)[TN], int at, int size) {
    const int count = size - at;
#pragma clang loop unroll(full)
    for (int n = 0; n < TN; n++) {
      to[n] = U(0);
      if (n < count) {
        to[n] = static_cast<U>(row[at + n]);
      }
    }
  }

  static METAL_FUNC void run(
      const device T* mat,
      const device T* in_vec,
      const device T* bias,
      device T* out_vec,
      const constant int& in_vec_size,
      const constant int& out_vec_size,
      const constant int& matrix_ld,
      const constant float& alpha,
      const constant float& beta,
      uint tid,
      uint simd_gid,
      uint simd_lid) {
    const int lane_row = simd_lid / SN, lane_column = simd_lid % SN;
    const int first = int(tid) * in_block + (int(simd_gid) * (32 / SN) + lane_row) * TM;
    // rows after the last one are computed from it, and not written
    const int last = out_vec_size - 1;
    AccT sums[TM] = {};
    for (int at = lane_column * TN; at < in_vec_size; at += across) {
      AccT weights[TN], row[TN];
      fetch(in_vec, weights, at, in_vec_size);
#pragma clang loop unroll(full)
      for (int m = 0; m < TM; m++) {
        fetch(mat + min(first + m, last) * matrix_ld, row, at, in_vec_size);
        for (int n = 0; n < TN; n++) {
          sums[m] += weights[n] * row[n];
        }
      }
    }
    for (int m = 0; m < TM; m++) {
      for (ushort mask = 1; mask < SN; mask <<= 1) {
        sums[m] += simd_shuffle_xor(sums[m], mask);
      }
      const int r = first + m;
      if (lane_column == 0 && r <= last) {
        T y = static_cast<T>(sums[m]);
        if constexpr (kDoAxpby) {
          const T scaled = static_cast<T>(alpha) * y;
          y = scaled + static_cast<T>(beta) * bias[r];
        }
        out_vec[r] = y;
      }
    }
  }
};

template <typename T, const int BM, const int SN, const int TM, const int TN, const bool kDoAxpby>
[[kernel, max_total_threads_per_threadgroup(BM * 32)]] void gemv(
    const device T* mat [[buffer(0)]],
    const device T* in_vec [[buffer(1)]],
    const device T* bias [[buffer(2)]],
    device T* out_vec [[buffer(3)]],
    const constant int& in_vec_size [[buffer(4)]],
    const constant int& out_vec_size [[buffer(5)]],
    const constant int& matrix_ld [[buffer(6)]],
    const constant float& alpha [[buffer(7)]],
    const constant float& beta [[buffer(8)]],
    const constant int* batch_strides [[buffer(9)]],
    uint3 tid [[threadgroup_position_in_grid]],
    uint simd_gid [[simdgroup_index_in_threadgroup]],
    uint simd_lid [[thread_index_in_simdgroup]]) {
  using block = RowBlock<T, BM, SN, TM, TN, kDoAxpby>;
  mat += batch_strides[0] * tid.z;
  in_vec += batch_strides[1] * tid.z;
  if (kDoAxpby) {
    bias += batch_strides[2] * tid.z;
  }
  out_vec += tid.z * out_vec_size;
  block::run(
      mat, in_vec, bias, out_vec, in_vec_size, out_vec_size, matrix_ld, alpha, beta, tid.x, simd_gid, simd_lid);
}

#define instantiate_gemv_helper(name, itype, bm, sn, tm, tn, axpby)                                    \
  template [[host_name("gemv_" #name "_bm" #bm "_sn" #sn "_tm" #tm "_tn" #tn "_axpby" #axpby)]]        \
  [[kernel]] decltype(gemv<itype, bm, sn, tm, tn, axpby>) gemv<itype, bm, sn, tm, tn, axpby>;

// clang-format off
#define instantiate_gemv(name, itype, bm, sn, tm, tn)     \
  instantiate_gemv_helper(name, itype, bm, sn, tm, tn, 0) \
  instantiate_gemv_helper(name, itype, bm, sn, tm, tn, 1)
// clang-format on

instantiate_gemv(float32, float, 2, 32, 4, 4)
instantiate_gemv(float16, half, 4, 8, 1, 4)
instantiate_gemv(bfloat16, bfloat, 1, 32, 4, 4)
instantiate_gemv(int32, int, 2, 16, 2, 1)

// The matrix is stored with the reduction along its rows: each lane owns TN columns, lanes of a column
// are SN apart, simdgroups meet in threadgroup memory.
template <typename T, const int BM, const int SM, const int SN, const int TN>
[[kernel]] void gemv_t(
    const device T* mat [[buffer(0)]],
    const device T* in_vec [[buffer(1)]],
    device T* out_vec [[buffer(3)]],
    constant int& in_vec_size [[buffer(4)]],
    constant int& out_vec_size [[buffer(5)]],
    constant int& matrix_ld [[buffer(6)]],
    threadgroup float* tgp_memory [[threadgroup(0)]],
    uint3 tid [[threadgroup_position_in_grid]],
    uint simd_gid [[simdgroup_index_in_threadgroup]],
    uint simd_lid [[thread_index_in_simdgroup]]) {
  static_assert(SM * SN == 32, "a simdgroup");
  typedef vec<float, TN> acc_t;
  const int thrM = simd_lid / SN;
  const int thrN = simd_lid % SN;
  const int out_col = (tid.x * SN + thrN) * TN;

  acc_t result = acc_t(0);
  if (out_col < out_vec_size) {
    const bool whole = out_col + TN <= out_vec_size;
    for (int row = simd_gid * SM + thrM; row < in_vec_size; row += BM * SM) {
      const float v = static_cast<float>(in_vec[row]);
      acc_t m = acc_t(0);
      if (whole) {
        _Pragma("unroll")
        for (int tn = 0; tn < TN; tn++) {
          m[tn] = static_cast<float>(mat[row * matrix_ld + out_col + tn]);
        }
      } else {
        for (int tn = 0; out_col + tn < out_vec_size; tn++) {
          m[tn] = static_cast<float>(mat[row * matrix_ld + out_col + tn]);
        }
      }
      result = fma(m, acc_t(v), result);
    }
  }
  for (ushort sm = (SM / 2); sm >= 1; sm >>= 1) {
    result += simd_shuffle_down(result, ushort(SN * sm));
  }
  threadgroup acc_t* partial = (threadgroup acc_t*)tgp_memory;
  if (thrM == 0) {
    partial[simd_gid * SN + thrN] = result;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (simd_gid == 0 && thrM == 0) {
#pragma unroll
    for (int sgm = 1; sgm < BM; sgm++) {
      result += partial[sgm * SN + thrN];
    }
    for (int tn = 0; tn < TN && out_col + tn < out_vec_size; tn++) {
      out_vec[out_col + tn] = static_cast<T>(result[tn]);
    }
  }
}

#define instantiate_gemv_t(name, itype, bm, sm, sn, tn) \
  template [[host_name("gemv_t_" #name "_" #sm "x" #sn)]] [[kernel]] decltype(gemv_t<itype, bm, sm, sn, tn>) \
      gemv_t<itype, bm, sm, sn, tn>;

instantiate_gemv_t(float32, float, 2, 8, 4, 4);
instantiate_gemv_t(float16, half, 4, 4, 8, 2);
instantiate_gemv_t(bfloat16, bfloat, 2, 8, 4, 4);
