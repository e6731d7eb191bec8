// Macros that write one concrete overload per type, like those of Metal's library. They are undefined again at the end of prelude.h.
//
// Overloads are concrete and not templates, because a scalar argument must convert to a vector parameter, and a kernel may define a
// function of the same name for a type of its own. Bodies call the scalar function __detail::name for each component.
#pragma once

// clang-format off
#define ASSAY_V2(T, call0, call1) return T##2(__detail::Raw(), T##2::Lanes{T##2::Stored(call0), T##2::Stored(call1)});

// T name(T x) and its vectors; Result is the scalar result type (its vectors are Result2..4).
#define ASSAY_UNARY_TO(name, Result, T)                                                                                      \
  inline Result name(T x) { return ::metal::__detail::name(x); }                                                               \
  inline Result##2 name(T##2 x) { return Result##2(::metal::__detail::name(x.x), ::metal::__detail::name(x.y)); }                \
  inline Result##3 name(T##3 x) {                                                                                            \
    return Result##3(::metal::__detail::name(x.x), ::metal::__detail::name(x.y), ::metal::__detail::name(x.z));                    \
  }                                                                                                                          \
  inline Result##4 name(T##4 x) {                                                                                            \
    return Result##4(::metal::__detail::name(x.x), ::metal::__detail::name(x.y), ::metal::__detail::name(x.z), ::metal::__detail::name(x.w)); \
  }
#define ASSAY_UNARY(name, T) ASSAY_UNARY_TO(name, T, T)

#define ASSAY_BINARY(name, T)                                                                                                \
  inline T name(T x, T y) { return ::metal::__detail::name(x, y); }                                                            \
  inline T##2 name(T##2 x, T##2 y) { return T##2(::metal::__detail::name(x.x, y.x), ::metal::__detail::name(x.y, y.y)); }        \
  inline T##3 name(T##3 x, T##3 y) {                                                                                         \
    return T##3(::metal::__detail::name(x.x, y.x), ::metal::__detail::name(x.y, y.y), ::metal::__detail::name(x.z, y.z));          \
  }                                                                                                                          \
  inline T##4 name(T##4 x, T##4 y) {                                                                                         \
    return T##4(::metal::__detail::name(x.x, y.x), ::metal::__detail::name(x.y, y.y), ::metal::__detail::name(x.z, y.z),           \
                ::metal::__detail::name(x.w, y.w));                                                                            \
  }

#define ASSAY_TERNARY(name, T)                                                                                               \
  inline T name(T x, T y, T z) { return ::metal::__detail::name(x, y, z); }                                                    \
  inline T##2 name(T##2 x, T##2 y, T##2 z) {                                                                                 \
    return T##2(::metal::__detail::name(x.x, y.x, z.x), ::metal::__detail::name(x.y, y.y, z.y));                                 \
  }                                                                                                                          \
  inline T##3 name(T##3 x, T##3 y, T##3 z) {                                                                                 \
    return T##3(::metal::__detail::name(x.x, y.x, z.x), ::metal::__detail::name(x.y, y.y, z.y), ::metal::__detail::name(x.z, y.z, z.z)); \
  }                                                                                                                          \
  inline T##4 name(T##4 x, T##4 y, T##4 z) {                                                                                 \
    return T##4(::metal::__detail::name(x.x, y.x, z.x), ::metal::__detail::name(x.y, y.y, z.y),                                  \
                ::metal::__detail::name(x.z, y.z, z.z), ::metal::__detail::name(x.w, y.w, z.w));                                 \
  }

// The second argument and its vectors have another type U (ldexp, bit counts).
#define ASSAY_BINARY_WITH(name, T, U)                                                                                        \
  inline T name(T x, U y) { return ::metal::__detail::name(x, y); }                                                            \
  inline T##2 name(T##2 x, U##2 y) { return T##2(::metal::__detail::name(x.x, y.x), ::metal::__detail::name(x.y, y.y)); }        \
  inline T##3 name(T##3 x, U##3 y) {                                                                                         \
    return T##3(::metal::__detail::name(x.x, y.x), ::metal::__detail::name(x.y, y.y), ::metal::__detail::name(x.z, y.z));          \
  }                                                                                                                          \
  inline T##4 name(T##4 x, U##4 y) {                                                                                         \
    return T##4(::metal::__detail::name(x.x, y.x), ::metal::__detail::name(x.y, y.y), ::metal::__detail::name(x.z, y.z),           \
                ::metal::__detail::name(x.w, y.w));                                                                            \
  }

// A second result is returned through a reference to the lane's own storage (sincos, modf, frexp).
#define ASSAY_UNARY_OUT(name, T, U)                                                                                          \
  inline T name(T x, __private U& out) { return ::metal::__detail::name(x, out); }                                             \
  inline T##2 name(T##2 x, __private U##2& out) {                                                                            \
    U a, b;                                                                                                                  \
    T##2 r(::metal::__detail::name(x.x, a), ::metal::__detail::name(x.y, b));                                                    \
    out = U##2(a, b);                                                                                                        \
    return r;                                                                                                                \
  }                                                                                                                          \
  inline T##3 name(T##3 x, __private U##3& out) {                                                                            \
    U a, b, c;                                                                                                               \
    T##3 r(::metal::__detail::name(x.x, a), ::metal::__detail::name(x.y, b), ::metal::__detail::name(x.z, c));                     \
    out = U##3(a, b, c);                                                                                                     \
    return r;                                                                                                                \
  }                                                                                                                          \
  inline T##4 name(T##4 x, __private U##4& out) {                                                                            \
    U a, b, c, d;                                                                                                            \
    T##4 r(::metal::__detail::name(x.x, a), ::metal::__detail::name(x.y, b), ::metal::__detail::name(x.z, c),                      \
           ::metal::__detail::name(x.w, d));                                                                                   \
    out = U##4(a, b, c, d);                                                                                                  \
    return r;                                                                                                                \
  }

#define ASSAY_EACH_INTEGER(X, name) \
  X(name, char) X(name, uchar) X(name, short) X(name, ushort) X(name, int) X(name, uint) X(name, long) X(name, ulong)
// clang-format on
#undef ASSAY_V2
