// <metal_matrix>: matrix<T, C, R>, C columns of R components, for float and half.
//
// Products follow linear algebra and are summed in ascending order of the inner index, one rounding per operation.
#pragma once

#include "vec.h"

namespace metal {

template <class T, int C, int R = C>
struct matrix {
  static_assert(is_floating_point<T>::value && C >= 2 && C <= 4 && R >= 2 && R <= 4, "Metal's matrices are 2x2 to 4x4 of half or float");
  typedef vec<T, R> Column;

  Column columns[C];

  matrix() = default;
  // A scalar fills the diagonal.
  explicit constexpr matrix(T s) : columns{} {
    for (int c = 0; c < C && c < R; ++c) columns[c][c] = s;
  }
  template <class... Columns, class = enable_if_t<sizeof...(Columns) + 2 == C && _conjunction<is_convertible<Columns, Column>...>::value>>
  constexpr matrix(Column a, Column b, Columns... rest) : columns{a, b, Column(rest)...} {}
  // C * R scalars, column after column.
  template <class... Scalars, class = enable_if_t<sizeof...(Scalars) + 3 == C * R>, class = void>
  constexpr matrix(T a, T b, T c, Scalars... rest) : columns{} {
    const T all[C * R] = {a, b, c, T(rest)...};
    for (int i = 0; i < C * R; ++i) columns[i / R][i % R] = all[i];
  }
  template <class U>
  explicit constexpr matrix(matrix<U, C, R> from) : columns{} {
    for (int c = 0; c < C; ++c) columns[c] = Column(from.columns[c]);
  }

  Column __generic& operator[](int c) { return columns[c]; }
  constexpr const Column __generic& operator[](int c) const { return columns[c]; }

  friend matrix operator+(matrix a, matrix b) {
    for (int c = 0; c < C; ++c) a.columns[c] += b.columns[c];
    return a;
  }
  friend matrix operator-(matrix a, matrix b) {
    for (int c = 0; c < C; ++c) a.columns[c] -= b.columns[c];
    return a;
  }
  friend matrix operator-(matrix a) {
    for (int c = 0; c < C; ++c) a.columns[c] = -a.columns[c];
    return a;
  }
  friend matrix operator*(matrix a, T s) {
    for (int c = 0; c < C; ++c) a.columns[c] *= s;
    return a;
  }
  friend matrix operator*(T s, matrix a) { return a * s; }
  friend Column operator*(matrix m, vec<T, C> v) {
    Column sum = m.columns[0] * v[0];
    for (int c = 1; c < C; ++c) sum += m.columns[c] * v[c];
    return sum;
  }
  friend vec<T, C> operator*(Column v, matrix m) {
    vec<T, C> result;
    for (int c = 0; c < C; ++c) {
      T sum = v[0] * m.columns[c][0];
      for (int r = 1; r < R; ++r) sum += v[r] * m.columns[c][r];
      result[c] = sum;
    }
    return result;
  }
  matrix __generic& operator+=(matrix b) { return *this = *this + b; }
  matrix __generic& operator-=(matrix b) { return *this = *this - b; }
  matrix __generic& operator*=(T s) { return *this = *this * s; }
  template <int K, class = enable_if_t<K == C && K == R>>
  matrix __generic& operator*=(matrix<T, K, K> b) {
    return *this = *this * b;
  }
  friend bool operator==(matrix a, matrix b) {
    for (int i = 0; i < C * R; ++i)
      if (!(a.columns[i / R][i % R] == b.columns[i / R][i % R])) return false;
    return true;
  }
  friend bool operator!=(matrix a, matrix b) { return !(a == b); }
};

template <class T, int C, int R, int N>
inline matrix<T, N, R> operator*(matrix<T, C, R> a, matrix<T, N, C> b) {
  matrix<T, N, R> product;
  for (int n = 0; n < N; ++n) product.columns[n] = a * b.columns[n];
  return product;
}
namespace __detail {

template <class T, int C, int R>
inline matrix<T, R, C> transposed(matrix<T, C, R> m) {
  matrix<T, R, C> result;
  for (int c = 0; c < C; ++c)
    for (int r = 0; r < R; ++r) result[r][c] = m[c][r];
  return result;
}

// a * d - b * c, each operation rounded to T.
template <class T>
inline T determinant2(T a, T b, T c, T d) {
  return T(a * d) - T(b * c);
}
template <class T>
inline T determinant_of(matrix<T, 2, 2> m) {
  return determinant2<T>(m[0][0], m[1][0], m[0][1], m[1][1]);
}
template <class T>
inline T determinant_of(matrix<T, 3, 3> m) {
  const T x = determinant2<T>(m[1][1], m[2][1], m[1][2], m[2][2]);
  const T y = determinant2<T>(m[0][1], m[2][1], m[0][2], m[2][2]);
  const T z = determinant2<T>(m[0][1], m[1][1], m[0][2], m[1][2]);
  return (m[0][0] * x - m[1][0] * y) + m[2][0] * z;
}
template <class T>
inline T determinant_of(matrix<T, 4, 4> m) {
  T sum = 0;
  for (int c = 0; c < 4; ++c) {
    matrix<T, 3, 3> minor;
    for (int i = 0, k = 0; i < 4; ++i)
      if (i != c) minor[k++] = m[i].yzw;
    const T term = m[c][0] * determinant_of(minor);
    sum = (c & 1) ? sum - term : sum + term;
  }
  return sum;
}

}  // namespace __detail

#define ASSAY_SHAPES(X, T) X(T, 2, 2) X(T, 2, 3) X(T, 2, 4) X(T, 3, 2) X(T, 3, 3) X(T, 3, 4) X(T, 4, 2) X(T, 4, 3) X(T, 4, 4)
#define ASSAY_MATRIX(T, C, R)         \
  typedef matrix<T, C, R> T##C##x##R; \
  inline matrix<T, R, C> transpose(matrix<T, C, R> m) { return __detail::transposed(m); }
ASSAY_SHAPES(ASSAY_MATRIX, float)
ASSAY_SHAPES(ASSAY_MATRIX, half)
#undef ASSAY_MATRIX
#define ASSAY_DETERMINANT(T)                                                      \
  inline T determinant(matrix<T, 2, 2> m) { return __detail::determinant_of(m); } \
  inline T determinant(matrix<T, 3, 3> m) { return __detail::determinant_of(m); } \
  inline T determinant(matrix<T, 4, 4> m) { return __detail::determinant_of(m); }
ASSAY_DETERMINANT(float)
ASSAY_DETERMINANT(half)
#undef ASSAY_DETERMINANT

}  // namespace metal

#define ASSAY_GLOBAL_NAME(T, C, R) using metal::T##C##x##R;
ASSAY_SHAPES(ASSAY_GLOBAL_NAME, float)
ASSAY_SHAPES(ASSAY_GLOBAL_NAME, half)
#undef ASSAY_GLOBAL_NAME
#undef ASSAY_SHAPES
