// What the translator's output uses beside the user's own text: entry points fetch their arguments through these.
#pragma once

extern "C" {
// `alignment` is that of what the kernel declares there.
__attribute__((const)) __global void* __assay_buffer(unsigned int index, unsigned int alignment);
__attribute__((const)) __local void* __assay_threadgroup_argument(unsigned int index);
__attribute__((const)) __local void* __assay_threadgroup_variable(unsigned int id, unsigned long bytes, unsigned long alignment);
__attribute__((const)) unsigned int __assay_builtin(unsigned int which, unsigned int component);
void __assay_iteration_end();
// Stands in a kernel whose max_total_threads_per_threadgroup only the compiler can compute.
void __assay_max_total_threads(unsigned int threads);

// The backend converts float to bfloat by calling this, and Debian's libgcc 12 does not have it. To nearest even; NaN stays
// NaN and becomes quiet.
__attribute__((used)) inline __bf16 __truncsfbf2(float value) {
  const unsigned int bits = __builtin_bit_cast(unsigned int, value);
  const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  const unsigned int rounded = is_nan ? (bits >> 16) | 0x40u : (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  return __builtin_bit_cast(__bf16, (unsigned short)rounded);
}
}

namespace __assay {

// Converts to whatever pointer or reference the kernel declares, so that entry points need not repeat types. An argument whose
// function constant is false does not exist: a null pointer, or a reference to where nothing is.
#define ASSAY_ARGUMENT(name, space, fetch)               \
  template <unsigned int Index, bool Exists = true>      \
  struct name {                                          \
    template <typename T>                                \
    operator space T*() const {                          \
      if constexpr (Exists) return (space T*)fetch(T);   \
      return nullptr;                                    \
    }                                                    \
    template <typename T>                                \
    operator space T&() const {                          \
      if constexpr (Exists) return *(space T*)fetch(T);  \
      return *(space T*)nowhere;                         \
    }                                                    \
  };
#define ASSAY_FETCH_BUFFER(T) __assay_buffer(Index, alignment_of<T>::value)
#define ASSAY_FETCH_THREADGROUP(T) __assay_threadgroup_argument(Index)
constexpr unsigned long nowhere = 4096;

// 1 of what has no size.
template <typename T, typename = void>
struct alignment_of {
  static constexpr unsigned int value = 1;
};
template <typename T>
struct alignment_of<T, metal::void_t<decltype(sizeof(T))>> {
  static constexpr unsigned int value = alignof(T);
};
ASSAY_ARGUMENT(device_buffer, __attribute__((opencl_global_device)), ASSAY_FETCH_BUFFER)
ASSAY_ARGUMENT(constant_buffer, __global const, ASSAY_FETCH_BUFFER)
ASSAY_ARGUMENT(threadgroup_argument, __local, ASSAY_FETCH_THREADGROUP)
#undef ASSAY_ARGUMENT
#undef ASSAY_FETCH_BUFFER
#undef ASSAY_FETCH_THREADGROUP

template <unsigned int Id, unsigned long Alignment>
struct threadgroup_object {
  template <typename T>
  operator __local T&() const {
    return *(__local T*)__assay_threadgroup_variable(Id, sizeof(T), Alignment > alignof(T) ? Alignment : alignof(T));
  }
};
template <unsigned int Id, unsigned long Alignment>
inline threadgroup_object<Id, Alignment> threadgroup_variable() {
  return threadgroup_object<Id, Alignment>();
}

template <typename T>
struct builtin_value {
  static T get(unsigned int which) { return (T)__assay_builtin(which, 0); }
};
template <typename T>
struct builtin_value<const T> : builtin_value<T> {};
template <typename T>
struct builtin_value<metal::vec<T, 2>> {
  static metal::vec<T, 2> get(unsigned int which) { return metal::vec<T, 2>((T)__assay_builtin(which, 0), (T)__assay_builtin(which, 1)); }
};
template <typename T>
struct builtin_value<metal::vec<T, 3>> {
  static metal::vec<T, 3> get(unsigned int which) {
    return metal::vec<T, 3>((T)__assay_builtin(which, 0), (T)__assay_builtin(which, 1), (T)__assay_builtin(which, 2));
  }
};
template <typename T>
inline T builtin(unsigned int which) {
  return builtin_value<T>::get(which);
}

// The type of a variable without the address space that it lies in.
template <typename T>
struct without_space {
  using type = T;
};
template <typename T>
struct without_space<__private T> {
  using type = T;
};
template <typename T>
struct without_space<__global T> {
  using type = T;
};
template <typename T>
using declared = typename without_space<T>::type;

// What a member function of a device object returns or keeps, in the space that its object is really in.
template <typename T>
inline __attribute__((opencl_global_device)) T& device_reference(__global T& place) {
  return *(__attribute__((opencl_global_device)) T*)&place;
}
template <typename T>
inline __attribute__((opencl_global_device)) T* device_pointer(__global T* place) {
  return (__attribute__((opencl_global_device)) T*)place;
}
template <typename T>
inline T device_pointer(T other) {
  return other;
}

// `half(x)` of a bfloat, spelled `half((cast_to<half>(), x))`: the comma hands on a float where clang has no conversion, and is
// the built-in one, which changes nothing, everywhere else.
template <typename To>
struct cast_to {};
template <typename T, typename = metal::enable_if_t<metal::is_same<metal::remove_cvref_t<T>, bfloat>::value>>
constexpr float operator,(cast_to<half>, T&& value) {
  return value;
}
template <typename T, typename = metal::enable_if_t<metal::is_same<metal::remove_cvref_t<T>, half>::value>>
constexpr float operator,(cast_to<bfloat>, T&& value) {
  return value;
}

// Stands at the top of every loop body; see pass/lockstep_pass.cpp.
struct iteration {
  ~iteration() { __assay_iteration_end(); }
};

}  // namespace __assay
