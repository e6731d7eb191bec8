// <metal_array>, <metal_uniform>: array<T, N>, uniform<T>.
#pragma once

#include "traits.h"

namespace metal {

template <class T, size_t N>
struct array {
  typedef T value_type;

  T elements_[N];

  constexpr size_t size() const { return N; }
  constexpr size_t max_size() const { return N; }
  constexpr bool empty() const { return N == 0; }
  constexpr T __generic& operator[](size_t i) { return elements_[i]; }
  constexpr const T __generic& operator[](size_t i) const { return elements_[i]; }
  constexpr T __generic& front() { return elements_[0]; }
  constexpr const T __generic& front() const { return elements_[0]; }
  constexpr T __generic& back() { return elements_[N - 1]; }
  constexpr const T __generic& back() const { return elements_[N - 1]; }
  constexpr T __generic* data() { return elements_; }
  constexpr const T __generic* data() const { return elements_; }
  constexpr T __generic* begin() { return elements_; }
  constexpr const T __generic* begin() const { return elements_; }
  constexpr T __generic* end() { return elements_ + N; }
  constexpr const T __generic* end() const { return elements_ + N; }
  void fill(T value) {
    for (size_t i = 0; i < N; ++i) elements_[i] = value;
  }
};

// A value that the programmer promises to be the same in all threads.
template <class T>
struct uniform {
  uniform() = default;
  constexpr uniform(T value) : value_(value) {}
  constexpr operator T() const { return value_; }

 private:
  T value_;
};
template <class T>
constexpr uniform<T> make_uniform(T value) {
  return uniform<T>(value);
}
template <class T>
struct is_uniform : false_type {};
template <class T>
struct is_uniform<uniform<T>> : true_type {};
template <class T>
__global constexpr const bool is_uniform_v = is_uniform<T>::value;

}  // namespace metal
