// packed_float3 and similar types: vectors without padding, aligned as one component.
//
// They convert to and from vec<T, N> implicitly; arithmetic gives vec<T, N>, as in Metal.
#pragma once

#include "vec.h"

namespace metal {

template <class T, int N>
struct packed_vec {
  typedef vec<T, N> Vector;

  T at_[N];

  packed_vec() = default;
  constexpr packed_vec(T s) : at_{} {
    for (int i = 0; i < N; ++i) at_[i] = s;
  }
  constexpr packed_vec(std::initializer_list<__detail::Piece<T>> list) : at_{} {
    for (int i = 0; i < N; ++i) at_[i] = __detail::listed<T>(list, i);
  }
  constexpr packed_vec(T a, T b) : at_{a, b} { static_assert(N == 2, "two components for a packed vector of another size"); }
  constexpr packed_vec(T a, T b, T c) : at_{a, b, c} { static_assert(N == 3, "three components for a packed vector of another size"); }
  constexpr packed_vec(T a, T b, T c, T d) : at_{a, b, c, d} {
    static_assert(N == 4, "four components for a packed vector of another size");
  }
  constexpr packed_vec(Vector v) : at_{} {
    for (int i = 0; i < N; ++i) at_[i] = static_cast<const Vector&>(v)[i];
  }
  template <class U>
  explicit constexpr packed_vec(vec<U, N> v) : packed_vec(Vector(v)) {}
  template <class U>
  explicit constexpr packed_vec(packed_vec<U, N> v) : packed_vec(Vector(vec<U, N>(v))) {}

  constexpr operator Vector() const {
    if constexpr (N == 2) return Vector(at_[0], at_[1]);
    if constexpr (N == 3) return Vector(at_[0], at_[1], at_[2]);
    if constexpr (N == 4) return Vector(at_[0], at_[1], at_[2], at_[3]);
  }
  template <class U, class = enable_if_t<!is_same<U, T>::value>>
  explicit constexpr operator vec<U, N>() const {
    return vec<U, N>(Vector(*this));
  }

  T __generic& operator[](int i) { return at_[i]; }
  constexpr T operator[](int i) const { return at_[i]; }

#define ASSAY_COMPONENT(name, alias, i)             \
  constexpr T get_##name() const { return at_[i]; } \
  T put_##name(T a) { return at_[i] = a; }          \
  __declspec(property(get = get_##name, put = put_##name)) T name, alias;
  ASSAY_COMPONENT(x, r, 0)
  ASSAY_COMPONENT(y, g, 1)
  ASSAY_COMPONENT(z, b, 2)
  ASSAY_COMPONENT(w, a, 3)
#undef ASSAY_COMPONENT
// Swizzles use the vector. A swizzle that the size does not have fails when it is used.
#define ASSAY_SWIZZLE2_READ(name, alias, a, b)                          \
  constexpr vec<T, 2> get_##name() const { return Vector(*this).name; } \
  __declspec(property(get = get_##name)) vec<T, 2> name, alias;
#define ASSAY_SWIZZLE3_READ(name, alias, a, b, c)                       \
  constexpr vec<T, 3> get_##name() const { return Vector(*this).name; } \
  __declspec(property(get = get_##name)) vec<T, 3> name, alias;
#define ASSAY_SWIZZLE4_READ(name, alias, a, b, c, d)                    \
  constexpr vec<T, 4> get_##name() const { return Vector(*this).name; } \
  __declspec(property(get = get_##name)) vec<T, 4> name, alias;
#define ASSAY_SWIZZLE2(name, alias, i, j)                               \
  constexpr vec<T, 2> get_##name() const { return Vector(*this).name; } \
  vec<T, 2> put_##name(vec<T, 2> from) {                                \
    at_[i] = from.x;                                                    \
    at_[j] = from.y;                                                    \
    return from;                                                        \
  }                                                                     \
  __declspec(property(get = get_##name, put = put_##name)) vec<T, 2> name, alias;
#define ASSAY_SWIZZLE3(name, alias, i, j, k)                            \
  constexpr vec<T, 3> get_##name() const { return Vector(*this).name; } \
  vec<T, 3> put_##name(vec<T, 3> from) {                                \
    at_[i] = from.x;                                                    \
    at_[j] = from.y;                                                    \
    at_[k] = from.z;                                                    \
    return from;                                                        \
  }                                                                     \
  __declspec(property(get = get_##name, put = put_##name)) vec<T, 3> name, alias;
#define ASSAY_SWIZZLE4(name, alias, i, j, k, l)                         \
  constexpr vec<T, 4> get_##name() const { return Vector(*this).name; } \
  vec<T, 4> put_##name(vec<T, 4> from) {                                \
    at_[i] = from.x;                                                    \
    at_[j] = from.y;                                                    \
    at_[k] = from.z;                                                    \
    at_[l] = from.w;                                                    \
    return from;                                                        \
  }                                                                     \
  __declspec(property(get = get_##name, put = put_##name)) vec<T, 4> name, alias;
#include "swizzles_4.inc"

#include "no_swizzles.inc"

// One overload per pair of types, because a conversion to one side only would be ambiguous.
#define ASSAY_PAIRINGS(Result, op)                                                                   \
  friend constexpr Result operator op(packed_vec a, packed_vec b) { return Vector(a) op Vector(b); } \
  friend constexpr Result operator op(packed_vec a, Vector b) { return Vector(a) op b; }             \
  friend constexpr Result operator op(Vector a, packed_vec b) { return a op Vector(b); }             \
  friend constexpr Result operator op(packed_vec a, T b) { return Vector(a) op Vector(b); }          \
  friend constexpr Result operator op(T a, packed_vec b) { return Vector(a) op Vector(b); }
#define ASSAY_PACKED_BINARY(op) \
  ASSAY_PAIRINGS(Vector, op)    \
  packed_vec __generic& operator op##=(Vector b) { return *this = packed_vec(Vector(*this) op b); }
  typedef vec<bool, N> Truth;
  ASSAY_PACKED_BINARY(+)
  ASSAY_PACKED_BINARY(-)
  ASSAY_PACKED_BINARY(*)
  ASSAY_PACKED_BINARY(/)
  ASSAY_PACKED_BINARY(%)
  ASSAY_PACKED_BINARY(<<)
  ASSAY_PACKED_BINARY(>>)
  ASSAY_PACKED_BINARY(&)
  ASSAY_PACKED_BINARY(|)
  ASSAY_PACKED_BINARY(^)
  ASSAY_PAIRINGS(Truth, ==)
  ASSAY_PAIRINGS(Truth, !=)
  ASSAY_PAIRINGS(Truth, <)
  ASSAY_PAIRINGS(Truth, >)
  ASSAY_PAIRINGS(Truth, <=)
  ASSAY_PAIRINGS(Truth, >=)
#undef ASSAY_PACKED_BINARY
#undef ASSAY_PAIRINGS
  friend constexpr Vector operator-(packed_vec a) { return -Vector(a); }
};

#define ASSAY_PACKED_NAMES(T)             \
  typedef packed_vec<T, 2> packed_##T##2; \
  typedef packed_vec<T, 3> packed_##T##3; \
  typedef packed_vec<T, 4> packed_##T##4;
ASSAY_EACH_SCALAR(ASSAY_PACKED_NAMES)
#undef ASSAY_PACKED_NAMES

}  // namespace metal

#define ASSAY_GLOBAL_NAMES(T) \
  using metal::packed_##T##2; \
  using metal::packed_##T##3; \
  using metal::packed_##T##4;
ASSAY_EACH_SCALAR(ASSAY_GLOBAL_NAMES)
#undef ASSAY_GLOBAL_NAMES
