// <metal_simdgroup_matrix>: simdgroup_matrix<T, 8, 8>, a matrix that is distributed over the lanes of a SIMD-group.
//
// Each lane has two neighbouring elements of a row. With qid = lane / 4 they are row (qid & 4) + (lane / 2) % 4, columns (qid &
// 2) * 2 + (lane % 2) * 2 and the next. A lane loads and stores its own two elements; the runtime computes a product once for
// the whole SIMD-group.
#pragma once

#include "simd.h"

namespace metal {

template <class T, int C, int R>
struct simdgroup_matrix {
  static_assert(C == 8 && R == 8, "Metal has simdgroup_matrix of 8x8 elements only");
  static_assert(is_floating_point<T>::value, "the elements of a simdgroup_matrix are half, bfloat or float");

  typedef vec<T, 2> storage_type;

  simdgroup_matrix() = default;
  // A diagonal matrix. make_filled_simdgroup_matrix fills all elements.
  explicit simdgroup_matrix(T diagonal) : mine_(T(0)) {
    const short2 at = detail_position();
    if (at.x == at.y) mine_.x = diagonal;
    if (at.x + 1 == at.y) mine_.y = diagonal;
  }

  __private storage_type& thread_elements() __private { return mine_; }
  const __private storage_type& thread_elements() const __private { return mine_; }
  __generic storage_type& thread_elements() { return mine_; }
  const __generic storage_type& thread_elements() const { return mine_; }

  // Column and row of this lane's first element.
  static short2 detail_position() {
    const uint lane = __assay_lane();
    const uint qid = lane / 4;
    return short2(short((qid & 2) * 2 + (lane % 2) * 2), short((qid & 4) + (lane / 2) % 4));
  }

 private:
  storage_type mine_;
};

// The type in which Apple's compiler holds such a matrix. Kernels keep it in their own classes and call builtins on it (builtins.h).
// The size of a lane's share does not matter.
template <class T>
struct vec<T, 64> {
  vec() = default;
  explicit constexpr vec(T s) : mine_(s) {}
  vec<T, 2> mine_;
};

typedef simdgroup_matrix<float, 8, 8> simdgroup_float8x8;
typedef simdgroup_matrix<half, 8, 8> simdgroup_half8x8;
typedef simdgroup_matrix<bfloat, 8, 8> simdgroup_bfloat8x8;

template <class T, int C, int R = C>
inline simdgroup_matrix<T, C, R> make_filled_simdgroup_matrix(__detail::type_identity_t<T> value) {
  simdgroup_matrix<T, C, R> m;
  m.thread_elements() = vec<T, 2>(value);
  return m;
}
template <class T, int C, int R = C>
inline simdgroup_matrix<T, C, R> make_diagonal_simdgroup_matrix(__detail::type_identity_t<T> value) {
  return simdgroup_matrix<T, C, R>(value);
}

namespace __detail {

// Element (row r, column c) is at origin.y * stride + origin.x + r * stride + c. In a transposed matrix r and c are exchanged.
struct Placement {
  ulong first;
  ulong second;
};
inline Placement place(short2 at, ulong stride, ulong2 origin, bool transpose) {
  const ulong base = origin.y * stride + origin.x;
  const ulong row = ulong(at.y), column = ulong(at.x);
  Placement p;
  p.first = base + (transpose ? column * stride + row : row * stride + column);
  p.second = p.first + (transpose ? stride : 1ul);
  return p;
}

}  // namespace __detail

#define ASSAY_MATRIX_MEMORY(space)                                                                                                     \
  template <class T, int C, int R>                                                                                                     \
  inline void simdgroup_load(__private simdgroup_matrix<T, C, R>& d, const space T* src, ulong elements_per_row = C,                   \
                             ulong2 matrix_origin = ulong2(0), bool transpose_matrix = false) {                                        \
    const __detail::Placement p =                                                                                                      \
        __detail::place(simdgroup_matrix<T, C, R>::detail_position(), elements_per_row, matrix_origin, transpose_matrix);              \
    const T first = src[p.first];                                                                                                      \
    const T second = src[p.second];                                                                                                    \
    d.thread_elements() = vec<T, 2>(first, second);                                                                                    \
  }                                                                                                                                    \
  template <class T, int C, int R>                                                                                                     \
  inline void simdgroup_store(simdgroup_matrix<T, C, R> a, space T* dst, ulong elements_per_row = C, ulong2 matrix_origin = ulong2(0), \
                              bool transpose_matrix = false) {                                                                         \
    const __detail::Placement p =                                                                                                      \
        __detail::place(simdgroup_matrix<T, C, R>::detail_position(), elements_per_row, matrix_origin, transpose_matrix);              \
    dst[p.first] = a.thread_elements().x;                                                                                              \
    dst[p.second] = a.thread_elements().y;                                                                                             \
  }
ASSAY_MATRIX_MEMORY(__attribute__((opencl_global_device)))
ASSAY_MATRIX_MEMORY(__local)
#undef ASSAY_MATRIX_MEMORY

namespace __detail {

// The elements are accessed one by one. As vectors they would go through memory, where a wide load would have to wait for
// two narrow stores.
template <class T>
inline ulong pair_word(vec<T, 2> pair) {
  const float first = float(pair.x), second = float(pair.y);
  return ulong(as_type<uint>(first)) | ulong(as_type<uint>(second)) << 32;
}
template <class T>
inline ulong matrix_word(simdgroup_matrix<T, 8, 8> m) {
  const float first = float(m.thread_elements().x), second = float(m.thread_elements().y);
  return ulong(as_type<uint>(first)) | ulong(as_type<uint>(second)) << 32;
}
template <class T>
inline vec<T, 2> matrix_elements(ulong word) {
  return vec<T, 2>(T(as_type<float>(uint(word))), T(as_type<float>(uint(word >> 32))));
}

}  // namespace __detail

// d = a * b + c; d may be the same matrix as a, b or c. Element types may differ.
template <class D, class A, class B, class C>
inline void simdgroup_multiply_accumulate(__private simdgroup_matrix<D, 8, 8>& d, simdgroup_matrix<A, 8, 8> a, simdgroup_matrix<B, 8, 8> b,
                                          simdgroup_matrix<C, 8, 8> c) {
  d.thread_elements() =
      __detail::matrix_elements<D>(__assay_matrix_multiply(__detail::matrix_word(a), __detail::matrix_word(b), __detail::matrix_word(c)));
}
template <class D, class A, class B>
inline void simdgroup_multiply(__private simdgroup_matrix<D, 8, 8>& d, simdgroup_matrix<A, 8, 8> a, simdgroup_matrix<B, 8, 8> b) {
  d.thread_elements() = __detail::matrix_elements<D>(__assay_matrix_multiply(__detail::matrix_word(a), __detail::matrix_word(b), 0));
}
template <class T>
inline simdgroup_matrix<T, 8, 8> operator*(simdgroup_matrix<T, 8, 8> a, simdgroup_matrix<T, 8, 8> b) {
  simdgroup_matrix<T, 8, 8> d;
  simdgroup_multiply(d, a, b);
  return d;
}

}  // namespace metal
