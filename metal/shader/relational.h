// <metal_relational>: classification, select, any, all.
#pragma once

#include "overloads.h"
#include "scalar_math.h"

namespace metal {

// clang-format off
#define ASSAY_ORDER(name, T)                                                                                             \
  inline bool name(T x, T y) { return __detail::name(x, y); }                                                              \
  inline bool2 name(T##2 x, T##2 y) { return bool2(__detail::name(x.x, y.x), __detail::name(x.y, y.y)); }                    \
  inline bool3 name(T##3 x, T##3 y) { return bool3(__detail::name(x.x, y.x), __detail::name(x.y, y.y), __detail::name(x.z, y.z)); } \
  inline bool4 name(T##4 x, T##4 y) {                                                                                    \
    return bool4(__detail::name(x.x, y.x), __detail::name(x.y, y.y), __detail::name(x.z, y.z), __detail::name(x.w, y.w));        \
  }
#define ASSAY_CLASSIFY(T)                                                                                                \
  ASSAY_UNARY_TO(isfinite, bool, T) ASSAY_UNARY_TO(isinf, bool, T) ASSAY_UNARY_TO(isnan, bool, T)                        \
  ASSAY_UNARY_TO(isnormal, bool, T) ASSAY_UNARY_TO(signbit, bool, T)                \
  ASSAY_ORDER(isordered, T) ASSAY_ORDER(isunordered, T)
ASSAY_CLASSIFY(float)
ASSAY_CLASSIFY(half)
// A bfloat is a float with fewer bits and of the same class, so scalars convert. Vectors do not convert; the overloads for them yield
// to a kernel's own.
#define ASSAY_CLASSIFY_BFLOAT(name) \
  template <int N>                                                                                                       \
  inline vec<bool, N> name(vec<bfloat, N> x) { return name(vec<float, N>(x)); }
#define ASSAY_ORDER_BFLOAT(name) \
  template <int N>                                                                                                       \
  inline vec<bool, N> name(vec<bfloat, N> x, vec<bfloat, N> y) { return name(vec<float, N>(x), vec<float, N>(y)); }
ASSAY_CLASSIFY_BFLOAT(isfinite) ASSAY_CLASSIFY_BFLOAT(isinf) ASSAY_CLASSIFY_BFLOAT(isnan) ASSAY_CLASSIFY_BFLOAT(isnormal)
ASSAY_CLASSIFY_BFLOAT(signbit) ASSAY_ORDER_BFLOAT(isordered) ASSAY_ORDER_BFLOAT(isunordered)
#undef ASSAY_CLASSIFY_BFLOAT
#undef ASSAY_ORDER_BFLOAT
#undef ASSAY_CLASSIFY
#undef ASSAY_ORDER

// select(a, b, c): b where c is true, a elsewhere.
#define ASSAY_SELECT(T)                                                                                                  \
  inline constexpr T select(T a, T b, bool c) { return c ? b : a; }                                                      \
  inline constexpr T##2 select(T##2 a, T##2 b, bool2 c) { return T##2(c.x ? b.x : a.x, c.y ? b.y : a.y); }               \
  inline constexpr T##3 select(T##3 a, T##3 b, bool3 c) {                                                                \
    return T##3(c.x ? b.x : a.x, c.y ? b.y : a.y, c.z ? b.z : a.z);                                                      \
  }                                                                                                                      \
  inline constexpr T##4 select(T##4 a, T##4 b, bool4 c) {                                                                \
    return T##4(c.x ? b.x : a.x, c.y ? b.y : a.y, c.z ? b.z : a.z, c.w ? b.w : a.w);                                     \
  }
ASSAY_SELECT(bool) ASSAY_SELECT(char) ASSAY_SELECT(uchar) ASSAY_SELECT(short) ASSAY_SELECT(ushort) ASSAY_SELECT(int)
ASSAY_SELECT(uint) ASSAY_SELECT(long) ASSAY_SELECT(ulong) ASSAY_SELECT(half) ASSAY_SELECT(float)
#undef ASSAY_SELECT
// For bfloat these are templates, which yield to a kernel's own functions.
template <class T, class = enable_if_t<is_same<T, bfloat>::value>>
inline constexpr T select(T a, T b, bool c) { return c ? b : a; }
template <int N>
inline vec<bfloat, N> select(vec<bfloat, N> a, vec<bfloat, N> b, vec<bool, N> c) {
  return vec<bfloat, N>(select(vec<float, N>(a), vec<float, N>(b), c));
}
// clang-format on

inline constexpr bool any(bool x) { return x; }
inline constexpr bool any(bool2 x) { return x.x || x.y; }
inline constexpr bool any(bool3 x) { return x.x || x.y || x.z; }
inline constexpr bool any(bool4 x) { return x.x || x.y || x.z || x.w; }
inline constexpr bool all(bool x) { return x; }
inline constexpr bool all(bool2 x) { return x.x && x.y; }
inline constexpr bool all(bool3 x) { return x.x && x.y && x.z; }
inline constexpr bool all(bool4 x) { return x.x && x.y && x.z && x.w; }

}  // namespace metal
