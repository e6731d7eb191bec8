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
  ASSAY_UNARY_TO(isnormal, bool, T) ASSAY_UNARY_TO(issubnormal, bool, T) ASSAY_UNARY_TO(signbit, bool, T)                \
  ASSAY_ORDER(isordered, T) ASSAY_ORDER(isunordered, T)
ASSAY_CLASSIFY(float)
ASSAY_CLASSIFY(half)
ASSAY_CLASSIFY(bfloat)
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
ASSAY_EACH_SCALAR(ASSAY_SELECT)
#undef ASSAY_SELECT
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
