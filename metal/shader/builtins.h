// The compiler builtins behind Apple's headers that kernels call by name (__metal_exp, __metal_simd_sum ...), mostly to extend the
// library to types of their own.
//
// No document lists these builtins. Builtins of library functions have the function's name and one more argument, which chooses between
// fast and precise. They are templates over all types that the function accepts. Builtins of SIMD-groups also accept types that the
// library omits, because a kernel's function for such a type must compile even if it is never called.
#pragma once

#include "compute.h"
#include "math.h"
#include "relational.h"
#include "simd.h"
#include "simdgroup_matrix.h"

// clang-format off
// The builtins of float also accept arguments of several types.
#define ASSAY_BUILTIN1(name)                                                                                                    \
  template <class T>                                                                                                            \
  inline T __metal_##name(T x, bool = false) { return T(metal::name(x)); }
#define ASSAY_BUILTIN2(name)                                                                                                    \
  inline float __metal_##name(float x, float y, bool = false) { return metal::name(x, y); }                                     \
  template <class T>                                                                                                            \
  inline T __metal_##name(T x, T y, bool = false) { return T(metal::name(x, y)); }
#define ASSAY_BUILTIN3(name)                                                                                                    \
  inline float __metal_##name(float x, float y, float z, bool = false) { return metal::name(x, y, z); }                         \
  template <class T>                                                                                                            \
  inline T __metal_##name(T x, T y, T z, bool = false) { return T(metal::name(x, y, z)); }
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
#define ASSAY_CLASSIFY(name)                                                                                                    \
  template <class T>                                                                                                            \
  inline auto __metal_##name(T x, bool = false) { return metal::name(x); }
ASSAY_CLASSIFY(isfinite) ASSAY_CLASSIFY(isinf) ASSAY_CLASSIFY(isnan) ASSAY_CLASSIFY(isnormal) ASSAY_CLASSIFY(signbit) ASSAY_CLASSIFY(ilogb)
#undef ASSAY_CLASSIFY
    // clang-format on
    inline float __metal_frexp(float x, __private int* e) {
  return metal::frexp(x, *e);
}
inline half __metal_frexp(half x, __private int* e) { return metal::frexp(x, *e); }
inline float __metal_modf(float x, __private float* whole) { return metal::modf(x, *whole); }
inline half __metal_modf(half x, __private half* whole) { return metal::modf(x, *whole); }
inline float __metal_sincos(float x, __private float* cosine, bool = false) { return metal::sincos(x, *cosine); }
inline half __metal_sincos(half x, __private half* cosine, bool = false) { return metal::sincos(x, *cosine); }
template <class T, class K>
inline T __metal_ldexp(T x, K k, bool = false) {
  return T(metal::ldexp(x, k));
}

template <class T>
constexpr ushort __metal_get_simdgroup_size(T) {
  return 32;
}
template <class T>
constexpr ushort __metal_get_quadgroup_size(T) {
  return 4;
}

namespace metal {
namespace __detail {

// The type in which a group reduces T: T itself, except that bool becomes a number. Every value but 0 is true.
template <class T>
struct reduced_as {
  typedef T type;
};
template <>
struct reduced_as<bool> {
  typedef uint type;
};
template <class T>
inline T reduce_any(uint op, uint width, T value) {
  return T(reduce(op, width, typename reduced_as<T>::type(value)));
}

// `and`, `or` and `xor` combine the bits of floating-point numbers; no document gives another meaning.
template <uint size>
struct bits_code;
template <>
struct bits_code<1> : scalar_code<uchar> {};
template <>
struct bits_code<2> : scalar_code<ushort> {};
template <>
struct bits_code<4> : scalar_code<uint> {};
template <>
struct bits_code<8> : scalar_code<ulong> {};
template <class T>
struct component_size {
  static constexpr __global const uint value = sizeof(T);
};
template <class T, int N>
struct component_size<vec<T, N>> {
  static constexpr __global const uint value = sizeof(T);
};
template <class T>
inline T reduce_bits(uint op, uint width, T value) {
  __assay_simd_reduce(op, bits_code<component_size<T>::value>::value, component_count<T>::value, width, &value);
  return value;
}

}  // namespace __detail
}  // namespace metal

// clang-format off
#define ASSAY_REDUCE(g, width, by, name)                                                                                        \
  template <class T>                                                                                                            \
  inline T __metal_##g##_##name(T x) { return metal::__detail::by(metal::__detail::reduce_##name, width, x); }
#define ASSAY_SHUFFLE(g, width, name, mode)                                                                                     \
  template <class T>                                                                                                            \
  inline T __metal_##g##_##name(T x, ushort n) { return metal::__detail::shuffle(metal::__detail::mode, width, x, n); }
#define ASSAY_FILL(g, width, name, mode)                                                                                        \
  template <class T>                                                                                                            \
  inline T __metal_##g##_##name(T x, metal::__detail::type_identity_t<T> fill, ushort n, ushort modulo) {                       \
    return metal::__detail::shuffle_fill(metal::__detail::mode, width, x, fill, n, modulo);                                     \
  }
#define ASSAY_GROUP(g, width)                                                                                                   \
  ASSAY_REDUCE(g, width, reduce_any, sum) ASSAY_REDUCE(g, width, reduce_any, product)                                           \
  ASSAY_REDUCE(g, width, reduce_any, min) ASSAY_REDUCE(g, width, reduce_any, max)                                               \
  ASSAY_REDUCE(g, width, reduce_bits, and) ASSAY_REDUCE(g, width, reduce_bits, or) ASSAY_REDUCE(g, width, reduce_bits, xor)     \
  ASSAY_REDUCE(g, width, reduce_any, prefix_inclusive_sum) ASSAY_REDUCE(g, width, reduce_any, prefix_exclusive_sum)             \
  ASSAY_REDUCE(g, width, reduce_any, prefix_inclusive_product) ASSAY_REDUCE(g, width, reduce_any, prefix_exclusive_product)     \
  template <class T>                                                                                                            \
  inline T __metal_##g##_broadcast_first(T x) { return metal::__detail::shuffle(metal::__detail::shuffle_broadcast_first, width, x, 0); } \
  ASSAY_SHUFFLE(g, width, broadcast, shuffle_broadcast) ASSAY_SHUFFLE(g, width, shuffle, shuffle_index)                         \
  ASSAY_SHUFFLE(g, width, shuffle_xor, shuffle_xor) ASSAY_SHUFFLE(g, width, shuffle_up, shuffle_up)                             \
  ASSAY_SHUFFLE(g, width, shuffle_down, shuffle_down) ASSAY_SHUFFLE(g, width, shuffle_rotate_up, shuffle_rotate_up)             \
  ASSAY_SHUFFLE(g, width, shuffle_rotate_down, shuffle_rotate_down)                                                             \
  ASSAY_FILL(g, width, shuffle_and_fill_up, shuffle_fill_up) ASSAY_FILL(g, width, shuffle_and_fill_down, shuffle_fill_down)     \
  inline bool __metal_##g##_all(bool x) { return metal::g##_all(x); }                                                           \
  inline bool __metal_##g##_any(bool x) { return metal::g##_any(x); }                                                           \
  inline bool __metal_##g##_is_first() { return metal::g##_is_first(); }                                                        \
  inline metal::g##_vote::vote_t __metal_##g##_ballot(bool x) { return metal::g##_vote::vote_t(metal::g##_ballot(x)); }
ASSAY_GROUP(simd, 32)
ASSAY_GROUP(quad, 4)
#undef ASSAY_GROUP
#undef ASSAY_REDUCE
#undef ASSAY_SHUFFLE
#undef ASSAY_FILL
// clang-format on

// The last argument only determines the type of the result.
template <class A, class B, class C, class D>
inline metal::vec<D, 64> __metal_simdgroup_matrix_8x8_multiply_accumulate(metal::vec<A, 64> a, metal::vec<B, 64> b, metal::vec<C, 64> c,
                                                                          metal::vec<D, 64>) {
  metal::vec<D, 64> d;
  d.mine_ = metal::__detail::matrix_elements<D>(__assay_matrix_multiply(
      metal::__detail::pair_word(a.mine_), metal::__detail::pair_word(b.mine_), metal::__detail::pair_word(c.mine_)));
  return d;
}
template <class A, class B, class D>
inline metal::vec<D, 64> __metal_simdgroup_matrix_8x8_multiply(metal::vec<A, 64> a, metal::vec<B, 64> b, metal::vec<D, 64> d) {
  return __metal_simdgroup_matrix_8x8_multiply_accumulate(a, b, metal::vec<float, 64>(0.0f), d);
}
template <class T>
inline metal::vec<T, 64> __metal_simdgroup_matrix_8x8_init_filled(T value, metal::vec<T, 64>) {
  return metal::vec<T, 64>(value);
}
template <class T>
inline metal::vec<T, 64> __metal_simdgroup_matrix_8x8_init_diag(T value, metal::vec<T, 64>) {
  metal::vec<T, 64> d;
  d.mine_ = metal::simdgroup_matrix<T, 8, 8>(value).thread_elements();
  return d;
}
