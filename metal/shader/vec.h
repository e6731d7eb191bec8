// vec<T, N>: Metal's vectors, N = 2, 3 or 4 components of any scalar type.
//
// Storage is a native vector, so size and alignment are Metal's: N components, rounded up to a power of two (sizeof(float3) is 16,
// sizeof(half3) is 8). Vectors of bool use one byte per component. Arithmetic never widens: ushort2 + ushort2 is ushort2. A scalar
// converts to a vector implicitly; a vector converts to another component type only explicitly. Default construction is trivial, so
// that unions may contain vectors.
//
// Member functions take an object in any address space (an unqualified `this` is generic). A write to a component writes only that
// component, not the whole vector, because another lane may own the next one. Braces are read component by component (braces.h).
#pragma once

#include "braces.h"
#include "traits.h"

namespace metal {

namespace __detail {

struct Raw {};

template <class T, int N>
struct lanes {
  typedef typename stored<T>::type type __attribute__((ext_vector_type(N)));
};
template <class T, int N>
using lanes_t = typename lanes<T, N>::type;

template <class S, int N>
struct Elements {
  S at[N];
};

// Converts the 0 / -1 components of a vector comparison to bytes of 0 and 1.
template <int N, class Mask>
constexpr lanes_t<bool, N> truth(Mask mask) {
  return __builtin_convertvector(mask, lanes_t<bool, N>) & (lanes_t<bool, N>)(uchar)1;
}

template <class T, class U, int N>
constexpr lanes_t<T, N> convert(lanes_t<U, N> from) {
  typedef typename stored<T>::type S;
  if constexpr (is_same<T, U>::value) {
    return from;
  } else if constexpr (is_same<T, bool>::value) {
    return truth<N>(from != (lanes_t<U, N>)(typename stored<U>::type)0);
  } else if constexpr (is_integral<T>::value && is_floating_point<U>::value) {
    // Component by component, so that values out of range convert as scalars do.
    if constexpr (N == 2) return lanes_t<T, N>{S(from[0]), S(from[1])};
    if constexpr (N == 3) return lanes_t<T, N>{S(from[0]), S(from[1]), S(from[2])};
    if constexpr (N == 4) return lanes_t<T, N>{S(from[0]), S(from[1]), S(from[2]), S(from[3])};
  } else if constexpr ((is_same<T, half>::value && is_same<U, bfloat>::value) || (is_same<T, bfloat>::value && is_same<U, half>::value)) {
    // The compiler has no conversion between half and bfloat; each is exact in float.
    return __builtin_convertvector(__builtin_convertvector(from, lanes_t<float, N>), lanes_t<T, N>);
  } else {
    return __builtin_convertvector(from, lanes_t<T, N>);
  }
}

}  // namespace __detail

#define ASSAY_READ(I)                                                                                  \
  {                                                                                                    \
    if (__builtin_is_constant_evaluated()) return T(__builtin_bit_cast(Elements, ASSAY_PADDED).at[I]); \
    return T(((const Stored __generic*)&v_)[I]);                                                       \
  }
#define ASSAY_COMPONENT(name, alias, I)                            \
  constexpr T get_##name() const ASSAY_READ(I) T put_##name(T a) { \
    ((Stored __generic*)&v_)[I] = Stored(a);                       \
    return a;                                                      \
  }                                                                \
  __declspec(property(get = get_##name, put = put_##name)) T name, alias;

// Without this, clang would describe the hundreds of swizzles of each type to debuggers, which takes as long as to read a kernel.
#define ASSAY_HIDDEN __attribute__((nodebug))
#define ASSAY_SWIZZLE2_READ(name, alias, a, b)                                                                                      \
  ASSAY_HIDDEN constexpr vec<T, 2> get_##name() const { return vec<T, 2>(__detail::Raw(), __builtin_shufflevector(v_, v_, a, b)); } \
  __declspec(property(get = get_##name)) vec<T, 2> name, alias;
#define ASSAY_SWIZZLE3_READ(name, alias, a, b, c)                                                                                      \
  ASSAY_HIDDEN constexpr vec<T, 3> get_##name() const { return vec<T, 3>(__detail::Raw(), __builtin_shufflevector(v_, v_, a, b, c)); } \
  __declspec(property(get = get_##name)) vec<T, 3> name, alias;
#define ASSAY_SWIZZLE4_READ(name, alias, a, b, c, d)                                                                                      \
  ASSAY_HIDDEN constexpr vec<T, 4> get_##name() const { return vec<T, 4>(__detail::Raw(), __builtin_shufflevector(v_, v_, a, b, c, d)); } \
  __declspec(property(get = get_##name)) vec<T, 4> name, alias;

#define ASSAY_SWIZZLE2(name, alias, a, b)                                                                                           \
  ASSAY_HIDDEN constexpr vec<T, 2> get_##name() const { return vec<T, 2>(__detail::Raw(), __builtin_shufflevector(v_, v_, a, b)); } \
  ASSAY_HIDDEN vec<T, 2> put_##name(vec<T, 2> from) { return put2(from, a, b); }                                                    \
  __declspec(property(get = get_##name, put = put_##name)) vec<T, 2> name, alias;
#define ASSAY_SWIZZLE3(name, alias, a, b, c)                                                                                           \
  ASSAY_HIDDEN constexpr vec<T, 3> get_##name() const { return vec<T, 3>(__detail::Raw(), __builtin_shufflevector(v_, v_, a, b, c)); } \
  ASSAY_HIDDEN vec<T, 3> put_##name(vec<T, 3> from) { return put3(from, a, b, c); }                                                    \
  __declspec(property(get = get_##name, put = put_##name)) vec<T, 3> name, alias;
#define ASSAY_SWIZZLE4(name, alias, a, b, c, d)                                                                                           \
  ASSAY_HIDDEN constexpr vec<T, 4> get_##name() const { return vec<T, 4>(__detail::Raw(), __builtin_shufflevector(v_, v_, a, b, c, d)); } \
  ASSAY_HIDDEN vec<T, 4> put_##name(vec<T, 4> from) { return put4(from, a, b, c, d); }                                                    \
  __declspec(property(get = get_##name, put = put_##name)) vec<T, 4> name, alias;

template <class T>
struct vec<T, 2> {
#define ASSAY_N 2
#define ASSAY_PADDED v_
#include "vec_members.inc"
  constexpr vec(T s) : v_{Stored(s), Stored(s)} {}
  constexpr vec(std::initializer_list<__detail::Piece<T>> list) : v_{__detail::listed<T>(list, 0), __detail::listed<T>(list, 1)} {}
  constexpr vec(T a, T b) : v_{Stored(a), Stored(b)} {}
  ASSAY_COMPONENT(x, r, 0)
  ASSAY_COMPONENT(y, g, 1)
#include "swizzles_2.inc"
#undef ASSAY_N
#undef ASSAY_PADDED
};

template <class T>
struct vec<T, 3> {
#define ASSAY_N 3
// The fourth component of a constant of three is padding without a value, so the third is repeated.
#define ASSAY_PADDED __builtin_shufflevector(v_, v_, 0, 1, 2, 2)
#include "vec_members.inc"
  constexpr vec(T s) : v_{Stored(s), Stored(s), Stored(s)} {}
  constexpr vec(std::initializer_list<__detail::Piece<T>> list)
      : v_{__detail::listed<T>(list, 0), __detail::listed<T>(list, 1), __detail::listed<T>(list, 2)} {}
  constexpr vec(T a, T b, T c) : v_{Stored(a), Stored(b), Stored(c)} {}
  constexpr vec(vec<T, 2> a, T b) : v_{Stored(a.get_x()), Stored(a.get_y()), Stored(b)} {}
  constexpr vec(T a, vec<T, 2> b) : v_{Stored(a), Stored(b.get_x()), Stored(b.get_y())} {}
  ASSAY_COMPONENT(x, r, 0)
  ASSAY_COMPONENT(y, g, 1)
  ASSAY_COMPONENT(z, b, 2)
#include "swizzles_3.inc"
#undef ASSAY_N
#undef ASSAY_PADDED
};

template <class T>
struct vec<T, 4> {
#define ASSAY_N 4
#define ASSAY_PADDED v_
#include "vec_members.inc"
  constexpr vec(T s) : v_{Stored(s), Stored(s), Stored(s), Stored(s)} {}
  constexpr vec(std::initializer_list<__detail::Piece<T>> list)
      : v_{__detail::listed<T>(list, 0), __detail::listed<T>(list, 1), __detail::listed<T>(list, 2), __detail::listed<T>(list, 3)} {}
  constexpr vec(T a, T b, T c, T d) : v_{Stored(a), Stored(b), Stored(c), Stored(d)} {}
  constexpr vec(vec<T, 2> a, T b, T c) : v_{Stored(a.get_x()), Stored(a.get_y()), Stored(b), Stored(c)} {}
  constexpr vec(T a, vec<T, 2> b, T c) : v_{Stored(a), Stored(b.get_x()), Stored(b.get_y()), Stored(c)} {}
  constexpr vec(T a, T b, vec<T, 2> c) : v_{Stored(a), Stored(b), Stored(c.get_x()), Stored(c.get_y())} {}
  constexpr vec(vec<T, 2> a, vec<T, 2> b) : v_{Stored(a.get_x()), Stored(a.get_y()), Stored(b.get_x()), Stored(b.get_y())} {}
  constexpr vec(vec<T, 3> a, T b) : v_{Stored(a.get_x()), Stored(a.get_y()), Stored(a.get_z()), Stored(b)} {}
  constexpr vec(T a, vec<T, 3> b) : v_{Stored(a), Stored(b.get_x()), Stored(b.get_y()), Stored(b.get_z())} {}
  ASSAY_COMPONENT(x, r, 0)
  ASSAY_COMPONENT(y, g, 1)
  ASSAY_COMPONENT(z, b, 2)
  ASSAY_COMPONENT(w, a, 3)
#include "swizzles_4.inc"
#undef ASSAY_N
#undef ASSAY_PADDED
};

#undef ASSAY_READ
#undef ASSAY_COMPONENT
#include "no_swizzles.inc"

#define ASSAY_VECTOR_NAMES(T) \
  typedef vec<T, 2> T##2;     \
  typedef vec<T, 3> T##3;     \
  typedef vec<T, 4> T##4;
#define ASSAY_EACH_SCALAR(X) X(bool) X(char) X(uchar) X(short) X(ushort) X(int) X(uint) X(long) X(ulong) X(half) X(float) X(bfloat)
ASSAY_EACH_SCALAR(ASSAY_VECTOR_NAMES)
#undef ASSAY_VECTOR_NAMES

#define ASSAY_VECTOR_SIGNS(N)                             \
  template <class T>                                      \
  struct make_unsigned<vec<T, N>> {                       \
    typedef vec<typename make_unsigned<T>::type, N> type; \
  };                                                      \
  template <class T>                                      \
  struct make_signed<vec<T, N>> {                         \
    typedef vec<typename make_signed<T>::type, N> type;   \
  };
ASSAY_VECTOR_SIGNS(2)
ASSAY_VECTOR_SIGNS(3)
ASSAY_VECTOR_SIGNS(4)
#undef ASSAY_VECTOR_SIGNS

// The bits of `from` as another type of the same size.
template <class To, class From>
constexpr To as_type(From from) {
  static_assert(sizeof(To) == sizeof(From), "as_type needs types of the same size");
  return __builtin_bit_cast(To, from);
}

}  // namespace metal

// In Metal, vector names and as_type belong to the language: they are visible without `using namespace metal`.
#define ASSAY_GLOBAL_NAMES(T) \
  using metal::T##2;          \
  using metal::T##3;          \
  using metal::T##4;
ASSAY_EACH_SCALAR(ASSAY_GLOBAL_NAMES)
#undef ASSAY_GLOBAL_NAMES
using metal::as_type;
