// Functions that the translator's text calls: entry points fetch their arguments through them.
#pragma once

extern "C" {
// `alignment` is that of the type that the kernel declares for the buffer.
__attribute__((const)) __global void* __assay_buffer(unsigned int index, unsigned int alignment);
__attribute__((const)) __local void* __assay_threadgroup_argument(unsigned int index);
__attribute__((const)) __local void* __assay_threadgroup_variable(unsigned int id, unsigned long bytes, unsigned long alignment);
__attribute__((const)) unsigned int __assay_builtin(unsigned int which, unsigned int component);
// Which of its versions a kernel is, where one source holds several (SimulatorOptions::choice).
__attribute__((const)) unsigned int __assay_choice();
void __assay_iteration_end();
// Called in a kernel whose max_total_threads_per_threadgroup only the compiler can compute.
void __assay_max_total_threads(unsigned int threads);

// The backend calls this to convert float to bfloat, and Debian's libgcc 12 does not have it. Rounds to nearest even; a NaN becomes
// a quiet NaN.
__attribute__((used)) inline __bf16 __truncsfbf2(float value) {
  const unsigned int bits = __builtin_bit_cast(unsigned int, value);
  const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  const unsigned int rounded = is_nan ? (bits >> 16) | 0x40u : (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  return __builtin_bit_cast(__bf16, (unsigned short)rounded);
}
}

namespace __assay {

// Converts to the pointer or reference type that the kernel declares, so that entry points need not repeat types. An argument whose
// function constant is false does not exist: it is a null pointer, or a reference to an unmapped address.
#define ASSAY_ARGUMENT(name, space, fetch)              \
  template <unsigned int Index, bool Exists = true>     \
  struct name {                                         \
    template <typename T>                               \
    operator space T*() const {                         \
      if constexpr (Exists) return (space T*)fetch(T);  \
      return nullptr;                                   \
    }                                                   \
    template <typename T>                               \
    operator space T&() const {                         \
      if constexpr (Exists) return *(space T*)fetch(T); \
      return *(space T*)nowhere;                        \
    }                                                   \
  };
#define ASSAY_FETCH_BUFFER(T) __assay_buffer(Index, alignment_of<T>::value)
#define ASSAY_FETCH_THREADGROUP(T) __assay_threadgroup_argument(Index)
constexpr unsigned long nowhere = 4096;

// The size of T; 1 if T has none.
template <typename T, typename = void>
struct alignment_of {
  static constexpr unsigned int value = 1;
};
template <typename T>
struct alignment_of<T, offered::void_t<decltype(sizeof(T))>> {
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

// The indices of arguments that depend on parameters of a kernel template. A function with the same template parameters returns them as
// this type; `index_of` takes a call of that function, or its type.
template <long... Index>
struct indices {};
template <int Number, typename T>
struct index_at;
template <int Number, long First, long... Rest>
struct index_at<Number, indices<First, Rest...>> : index_at<Number - 1, indices<Rest...>> {};
template <long First, long... Rest>
struct index_at<0, indices<First, Rest...>> {
  static constexpr long value = First;
};
template <int Number, typename R, typename... A>
struct index_at<Number, R(A...)> : index_at<Number, R> {};
template <int Number, typename T>
__global constexpr const long index_of = index_at<Number, T>::value;
// Lets the translator ask the compiler whether a kernel returns a value.
template <typename T>
__global constexpr const bool is_nothing = metal::is_void<T>::value;
// A value of any type, for unevaluated expressions.
template <typename T>
T made();

// Describes the type of a function constant to metal/function_constant.h: four times the number of components, plus 0 for bool, 1 for
// integers, 2 for floating-point numbers. 0 for a type that no constant can have.
template <typename T>
constexpr long scalar_shape() {
  if constexpr (metal::is_same<T, bool>::value) return 4;
  if constexpr (metal::is_integral<T>::value || __is_enum(T)) return 5;
  if constexpr (metal::is_floating_point<T>::value) return 6;
  return 0;
}
template <typename T>
struct shape_of {
  static constexpr long value = scalar_shape<T>();
};
template <typename T, int N>
struct shape_of<metal::vec<T, N>> {
  static constexpr long value = scalar_shape<T>() % 4 + 4 * N;
};
template <typename T, int N>
struct shape_of<metal::packed_vec<T, N>> : shape_of<metal::vec<T, N>> {};
template <typename T>
__global constexpr const long constant_shape = shape_of<metal::remove_cv_t<T>>::value;

// A vector of numbers, each converted to the component's type.
template <typename T>
struct component_of;
template <typename T, int N>
struct component_of<metal::vec<T, N>> {
  using type = T;
};
template <typename T, int N>
struct component_of<metal::packed_vec<T, N>> {
  using type = T;
};
template <typename T, typename... Numbers>
constexpr T constant_vector(Numbers... numbers) {
  return T((typename component_of<metal::remove_cv_t<T>>::type)numbers...);
}

// The type of a variable without its address space.
template <typename T, bool Left = __is_lvalue_reference(T), bool Right = __is_rvalue_reference(T)>
struct without_space {
  using type = T;
};
template <typename T>
struct without_space<__private T, false, false> {
  using type = T;
};
template <typename T>
struct without_space<__global T, false, false> {
  using type = T;
};
// A reference has an address space of its own, besides that of its target.
template <typename T>
struct without_space<T, true, false> {
  using type = __remove_reference_t(T)&;
};
template <typename T>
struct without_space<T, false, true> {
  using type = __remove_reference_t(T)&&;
};
template <typename T>
using declared = typename without_space<T>::type;

// Whether the components are properties: true for a vector of either kind, or a reference to one.
template <typename T>
struct vector_type {
  static constexpr __global const bool value = false;
};
template <typename T, int N>
struct vector_type<metal::vec<T, N>> {
  static constexpr __global const bool value = true;
};
template <typename T, int N>
struct vector_type<metal::packed_vec<T, N>> {
  static constexpr __global const bool value = true;
};
template <typename T>
__global constexpr const bool is_vector = vector_type<metal::__detail::remove_cvref_t<T>>::value;

// Converts between half and bfloat in both directions, as Metal does implicitly and clang does not.
struct bridged {
  float value;
  template <typename To, typename = metal::enable_if_t<metal::is_arithmetic<To>::value>>
  operator To() const {
    return To(value);
  }
};
template <typename T>
inline decltype(auto) bridge(T&& value) {
  using Bare = metal::__detail::remove_cvref_t<T>;
  if constexpr (metal::is_same<Bare, half>::value || metal::is_same<Bare, bfloat>::value) {
    return bridged{float(value)};
  } else {
    return static_cast<T&&>(value);
  }
}

// For values that may lie in any space in this dialect, such as the result of an implicit assignment operator, but in one known
// space in Metal.
template <typename T>
struct anywhere {
  __generic T* place;
  operator __private T&() const { return *(__private T*)place; }
  operator __local T&() const { return *(__local T*)place; }
  operator __attribute__((opencl_global_device)) T&() const { return *(__attribute__((opencl_global_device)) T*)place; }
};
template <typename T>
inline anywhere<T> placed(__generic T& value) {
  return {&value};
}

// The value of an operand.
template <typename T>
inline T loaded(T value) {
  return value;
}

// Handles `{x, y}` where a constructor takes a vector, so that it does not become an object of the constructor's own class. Components
// that are not listed are zero.
template <typename T>
struct vector_list {
  T at[4];
  template <typename U, int N>
  operator metal::vec<U, N>() const {
    metal::vec<U, N> result;
    for (int i = 0; i < N; ++i) result[i] = U(at[i]);
    return result;
  }
};
template <typename T>
inline vector_list<T> listed(std::initializer_list<T> list) {
  vector_list<T> result = {};
  for (size_t i = 0; i < list.size() && i < 4; ++i) result.at[i] = list.begin()[i];
  return result;
}

// The step of `pointer += object` where the object converts to an integer.
template <typename T>
inline decltype(auto) steps(T&& count) {
  if constexpr (__is_class(metal::__detail::remove_cvref_t<T>)) {
    const long number = count;
    return number;
  } else {
    return static_cast<T&&>(count);
  }
}

// The type of a template parameter that is a pointer to a function in Metal, and can only be a reference to one in this dialect.
template <typename T>
struct callable {
  using type = T;
};
template <typename R, typename... A>
struct callable<R (*)(A...)> {
  using type = R (&)(A...);
};
template <typename T>
using Callable = typename callable<T>::type;

// An object at the top of every loop body; see pass/lockstep_pass.cpp.
struct iteration {
  ~iteration() { __assay_iteration_end(); }
};

}  // namespace __assay
