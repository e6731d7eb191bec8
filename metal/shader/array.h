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
  // One overload per address space, because the result lies in the object's space; `generic` is for temporaries.
#define ASSAY_ARRAY_ACCESS(mark, value, qualifier)                                      \
  mark constexpr value& operator[](size_t i) qualifier { return (value&)elements_[i]; } \
  mark constexpr value& front() qualifier { return (value&)elements_[0]; }              \
  mark constexpr value& back() qualifier { return (value&)elements_[N - 1]; }           \
  mark constexpr value* data() qualifier { return (value*)elements_; }                  \
  mark constexpr value* begin() qualifier { return (value*)elements_; }                 \
  mark constexpr value* end() qualifier { return (value*)elements_ + N; }
#define ASSAY_DEVICE __attribute__((assay_device_member))
  ASSAY_ARRAY_ACCESS(, T __generic, )
  ASSAY_ARRAY_ACCESS(, const T __generic, const)
  ASSAY_ARRAY_ACCESS(, __private T, __private)
  ASSAY_ARRAY_ACCESS(, const __private T, const __private)
  ASSAY_ARRAY_ACCESS(, __local T, __local)
  ASSAY_ARRAY_ACCESS(, const __local T, const __local)
  ASSAY_ARRAY_ACCESS(ASSAY_DEVICE, __attribute__((opencl_global_device)) T, __global)
  ASSAY_ARRAY_ACCESS(ASSAY_DEVICE, const __attribute__((opencl_global_device)) T, const __global)
  ASSAY_ARRAY_ACCESS(, __global const T, const __global)
#undef ASSAY_DEVICE
#undef ASSAY_ARRAY_ACCESS
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
