// The compiler builtins behind Apple's headers that kernels call by name (__metal_exp, __metal_simd_sum ...), mostly to
// extend the library to a bfloat class of their own. A trailing flag chooses between fast and precise there.
#pragma once

#include "compute.h"
#include "math.h"
#include "simd.h"

// clang-format off
#define ASSAY_BUILTIN1(name) inline float __metal_##name(float x, bool = false) { return metal::name(x); }
#define ASSAY_BUILTIN2(name) inline float __metal_##name(float x, float y, bool = false) { return metal::name(x, y); }
#define ASSAY_BUILTIN3(name) inline float __metal_##name(float x, float y, float z, bool = false) { return metal::name(x, y, z); }
ASSAY_BUILTIN1(acos) ASSAY_BUILTIN1(acosh) ASSAY_BUILTIN1(asin) ASSAY_BUILTIN1(asinh) ASSAY_BUILTIN1(atan) ASSAY_BUILTIN1(atanh)
ASSAY_BUILTIN1(ceil) ASSAY_BUILTIN1(cos) ASSAY_BUILTIN1(cosh) ASSAY_BUILTIN1(cospi) ASSAY_BUILTIN1(exp) ASSAY_BUILTIN1(exp2)
ASSAY_BUILTIN1(exp10) ASSAY_BUILTIN1(fabs) ASSAY_BUILTIN1(floor) ASSAY_BUILTIN1(fract) ASSAY_BUILTIN1(log) ASSAY_BUILTIN1(log2)
ASSAY_BUILTIN1(log10) ASSAY_BUILTIN1(rint) ASSAY_BUILTIN1(round) ASSAY_BUILTIN1(rsqrt) ASSAY_BUILTIN1(saturate) ASSAY_BUILTIN1(sign)
ASSAY_BUILTIN1(sin) ASSAY_BUILTIN1(sinh) ASSAY_BUILTIN1(sinpi) ASSAY_BUILTIN1(sqrt) ASSAY_BUILTIN1(tan) ASSAY_BUILTIN1(tanh)
ASSAY_BUILTIN1(tanpi) ASSAY_BUILTIN1(trunc)
ASSAY_BUILTIN2(atan2) ASSAY_BUILTIN2(copysign) ASSAY_BUILTIN2(divide) ASSAY_BUILTIN2(fdim) ASSAY_BUILTIN2(fmax) ASSAY_BUILTIN2(fmin)
ASSAY_BUILTIN2(fmod) ASSAY_BUILTIN2(nextafter) ASSAY_BUILTIN2(pow) ASSAY_BUILTIN2(powr)
ASSAY_BUILTIN3(clamp) ASSAY_BUILTIN3(fma) ASSAY_BUILTIN3(fmax3) ASSAY_BUILTIN3(fmedian3) ASSAY_BUILTIN3(fmin3) ASSAY_BUILTIN3(mix)
#undef ASSAY_BUILTIN1
#undef ASSAY_BUILTIN2
#undef ASSAY_BUILTIN3
inline float __metal_frexp(float x, __private int* e) { return metal::frexp(x, *e); }
inline int __metal_ilogb(float x, bool = false) { return metal::ilogb(x); }
inline float __metal_ldexp(float x, int k, bool = false) { return metal::ldexp(x, k); }
inline float __metal_modf(float x, __private float* whole) { return metal::modf(x, *whole); }
inline float __metal_sincos(float x, __private float* cosine, bool = false) { return metal::sincos(x, *cosine); }

template <class T>
constexpr ushort __metal_get_simdgroup_size(T) { return 32; }
template <class T>
constexpr ushort __metal_get_quadgroup_size(T) { return 4; }

#define ASSAY_GROUP1(name) template <class T> inline T __metal_##name(T x) { return metal::name(x); }
#define ASSAY_GROUP2(name) template <class T> inline T __metal_##name(T x, ushort n) { return metal::name(x, n); }
#define ASSAY_GROUP4(name) template <class T> inline T __metal_##name(T x, T fill, ushort n, ushort modulo) { return metal::name(x, fill, n, modulo); }
#define ASSAY_GROUP(g)                                                                                                        \
  ASSAY_GROUP1(g##_sum) ASSAY_GROUP1(g##_product) ASSAY_GROUP1(g##_min) ASSAY_GROUP1(g##_max) ASSAY_GROUP1(g##_and)           \
  ASSAY_GROUP1(g##_or) ASSAY_GROUP1(g##_xor) ASSAY_GROUP1(g##_prefix_inclusive_sum) ASSAY_GROUP1(g##_prefix_exclusive_sum)    \
  ASSAY_GROUP1(g##_prefix_inclusive_product) ASSAY_GROUP1(g##_prefix_exclusive_product) ASSAY_GROUP1(g##_broadcast_first)     \
  ASSAY_GROUP2(g##_broadcast) ASSAY_GROUP2(g##_shuffle) ASSAY_GROUP2(g##_shuffle_xor) ASSAY_GROUP2(g##_shuffle_up)            \
  ASSAY_GROUP2(g##_shuffle_down) ASSAY_GROUP2(g##_shuffle_rotate_up) ASSAY_GROUP2(g##_shuffle_rotate_down)                    \
  ASSAY_GROUP4(g##_shuffle_and_fill_up) ASSAY_GROUP4(g##_shuffle_and_fill_down)
ASSAY_GROUP(simd)
ASSAY_GROUP(quad)
#undef ASSAY_GROUP
#undef ASSAY_GROUP1
#undef ASSAY_GROUP2
#undef ASSAY_GROUP4
// clang-format on
