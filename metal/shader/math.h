// <metal_math>, <metal_common>: functions of float and half and their vectors, and of float also in precise:: and fast::.
//
// This simulator evaluates precise and fast variants alike, to half an ulp (scalar_math.h). The error that Metal allows a GPU is part
// of the bounds, not of the simulation.
#pragma once

#include "overloads.h"
#include "scalar_math.h"

namespace metal {
namespace __detail {
// Names under which the tables below find a function that Metal gives two names.
template <class T>
inline T abs(T x) {
  return fabs(x);
}
template <class T>
inline T max(T x, T y) {
  return fmax(x, y);
}
template <class T>
inline T min(T x, T y) {
  return fmin(x, y);
}
template <class T>
inline T max3(T x, T y, T z) {
  return fmax3(x, y, z);
}
template <class T>
inline T min3(T x, T y, T z) {
  return fmin3(x, y, z);
}
template <class T>
inline T median3(T x, T y, T z) {
  return fmedian3(x, y, z);
}
template <class T>
inline T clamp(T x, T low, T high) {
  return clamp_fp(x, low, high);
}
}  // namespace __detail

// clang-format off
#define ASSAY_FLOATING_FUNCTIONS(T)                                                                                     \
  ASSAY_UNARY(acos, T) ASSAY_UNARY(acosh, T) ASSAY_UNARY(asin, T) ASSAY_UNARY(asinh, T) ASSAY_UNARY(atan, T)            \
  ASSAY_UNARY(atanh, T) ASSAY_UNARY(ceil, T) ASSAY_UNARY(cos, T) ASSAY_UNARY(cosh, T) ASSAY_UNARY(cospi, T)             \
  ASSAY_UNARY(exp, T) ASSAY_UNARY(exp2, T) ASSAY_UNARY(exp10, T) ASSAY_UNARY(fabs, T) ASSAY_UNARY(abs, T)               \
  ASSAY_UNARY(floor, T) ASSAY_UNARY(fract, T) ASSAY_UNARY(log, T) ASSAY_UNARY(log2, T) ASSAY_UNARY(log10, T)            \
  ASSAY_UNARY(rint, T) ASSAY_UNARY(round, T) ASSAY_UNARY(rsqrt, T) ASSAY_UNARY(sin, T) ASSAY_UNARY(sinh, T)             \
  ASSAY_UNARY(sinpi, T) ASSAY_UNARY(sqrt, T) ASSAY_UNARY(tan, T) ASSAY_UNARY(tanh, T) ASSAY_UNARY(tanpi, T)             \
  ASSAY_UNARY(trunc, T) ASSAY_UNARY(saturate, T) ASSAY_UNARY(sign, T)                                                   \
  ASSAY_UNARY_TO(ilogb, int, T)                                                                                         \
  ASSAY_BINARY(atan2, T) ASSAY_BINARY(copysign, T) ASSAY_BINARY(divide, T) ASSAY_BINARY(fdim, T) ASSAY_BINARY(fmax, T)  \
  ASSAY_BINARY(fmin, T) ASSAY_BINARY(fmod, T) ASSAY_BINARY(max, T) ASSAY_BINARY(min, T) ASSAY_BINARY(nextafter, T)      \
  ASSAY_BINARY(pow, T) ASSAY_BINARY(powr, T) ASSAY_BINARY(step, T)                                                      \
  ASSAY_TERNARY(fma, T) ASSAY_TERNARY(fmax3, T) ASSAY_TERNARY(fmedian3, T) ASSAY_TERNARY(fmin3, T)                      \
  ASSAY_TERNARY(max3, T) ASSAY_TERNARY(median3, T) ASSAY_TERNARY(min3, T) ASSAY_TERNARY(clamp, T)                       \
  ASSAY_TERNARY(mix, T) ASSAY_TERNARY(smoothstep, T)                                                                    \
  ASSAY_UNARY_OUT(sincos, T, T) ASSAY_UNARY_OUT(modf, T, T) ASSAY_UNARY_OUT(frexp, T, int)                              \
  ASSAY_BINARY_WITH(ldexp, T, int)
// clang-format on

ASSAY_FLOATING_FUNCTIONS(float)
ASSAY_FLOATING_FUNCTIONS(half)
namespace precise {
ASSAY_FLOATING_FUNCTIONS(float)
}
namespace fast {
ASSAY_FLOATING_FUNCTIONS(float)
}
#undef ASSAY_FLOATING_FUNCTIONS

}  // namespace metal
