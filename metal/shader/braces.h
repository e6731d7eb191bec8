// Values in braces: `float4 v = {x, y}`, `half4{v2, a, b}`, `return {x};`.
//
// Metal initialises a vector from braces component by component and fills the rest with zeros, while `float4(x)` repeats x.
// A class can tell the two apart only by a constructor that takes std::initializer_list, so this dialect gets one.
#pragma once

#include "types.h"

namespace std {

// The compiler builds these. It requires a pointer to an element in no address space at all. A declared pointer becomes generic in this
// dialect; only decay spells the right type.
template <class E>
class initializer_list {
 public:
  typedef __decay(const E[1]) Pointer;
  constexpr initializer_list() : begin_(nullptr), size_(0) {}
  constexpr size_t size() const { return size_; }
  constexpr Pointer begin() const { return begin_; }
  constexpr Pointer end() const { return begin_ + size_; }

 private:
  Pointer begin_;
  size_t size_;
};

}  // namespace std

namespace metal {

template <class T, int N>
struct vec;

namespace __detail {

template <class T>
struct stored {
  typedef T type;
};
template <>
struct stored<bool> {
  typedef uchar type;
};

// What the braces of a vector of T may contain: a scalar, or a vector whose components are inserted.
template <class T>
struct Piece {
  typedef typename stored<T>::type S;

  constexpr Piece(T s) : count(1), at{S(s), S(0), S(0), S(0)} {}
  constexpr Piece(vec<T, 2> v) : count(2), at{S(v.get_x()), S(v.get_y()), S(0), S(0)} {}
  constexpr Piece(vec<T, 3> v) : count(3), at{S(v.get_x()), S(v.get_y()), S(v.get_z()), S(0)} {}
  constexpr Piece(vec<T, 4> v) : count(4), at{S(v.get_x()), S(v.get_y()), S(v.get_z()), S(v.get_w())} {}

  int count;
  S at[4];
};

// Component k of all pieces in sequence; zero after the last. Code without loops, so that it always folds.
template <class T, int first = 0>
constexpr typename stored<T>::type listed(std::initializer_list<Piece<T>> list, int k) {
  if constexpr (first == 4) {
    return 0;
  } else {
    if (first >= list.size()) return 0;
    const int count = list.begin()[first].count;
    return k < count ? list.begin()[first].at[k] : listed<T, first + 1>(list, k - count);
  }
}

}  // namespace __detail
}  // namespace metal
