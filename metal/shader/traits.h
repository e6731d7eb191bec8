// <metal_type_traits>: the part of C++'s type traits that Metal has, adapted to address spaces.
#pragma once

#include "types.h"

namespace metal {

template <class T, T v>
struct integral_constant {
  static constexpr __global const T value = v;
  typedef T value_type;
  typedef integral_constant type;
  constexpr operator T() const { return v; }
  constexpr T operator()() const { return v; }
};
template <bool b>
using bool_constant = integral_constant<bool, b>;
typedef bool_constant<true> true_type;
typedef bool_constant<false> false_type;

// The trait `name` of T, and its value.
#define ASSAY_TRAIT(name, ...)                 \
  template <class T>                           \
  struct name : bool_constant<__VA_ARGS__> {}; \
  template <class T>                           \
  __global constexpr const bool name##_v = name<T>::value;
// The type that `name` makes of T, under its short name.
#define ASSAY_TRAIT_TYPE(name) \
  template <class T>           \
  using name##_t = typename name<T>::type;
// name<T>::type is T; with ASSAY_MATCHES(name, const T), it is X for const X.
#define ASSAY_KEEPS(name) \
  template <class T>      \
  struct name {           \
    typedef T type;       \
  };
#define ASSAY_MATCHES(name, pattern) \
  template <class T>                 \
  struct name<pattern> {             \
    typedef T type;                  \
  };

namespace __detail {
ASSAY_KEEPS(type_identity)
ASSAY_TRAIT_TYPE(type_identity)
}  // namespace __detail

template <bool condition, class T = void>
struct enable_if {};
template <class T>
struct enable_if<true, T> {
  typedef T type;
};
template <bool condition, class T = void>
using enable_if_t = typename enable_if<condition, T>::type;

template <bool condition, class T, class F>
struct conditional {
  typedef T type;
};
template <class T, class F>
struct conditional<false, T, F> {
  typedef F type;
};
template <bool condition, class T, class F>
using conditional_t = typename conditional<condition, T, F>::type;

namespace __detail {
ASSAY_KEEPS(without_private)
ASSAY_MATCHES(without_private, __private T)
}  // namespace __detail
// The address space of a variable is ignored: decltype of a local float is `thread float` here and plain float in Metal.
template <class T, class U>
struct is_same : bool_constant<__is_same(typename __detail::without_private<T>::type, typename __detail::without_private<U>::type)> {};

// Names with the underscore are internal to Apple's headers, but kernels use them. Names without it are of C++17 (offered.h).
template <class... B>
struct _conjunction : true_type {};
template <class B>
struct _conjunction<B> : B {};
template <class B, class... Bs>
struct _conjunction<B, Bs...> : conditional_t<bool(B::value), _conjunction<Bs...>, B> {};
template <class... B>
struct _disjunction : false_type {};
template <class B>
struct _disjunction<B> : B {};
template <class B, class... Bs>
struct _disjunction<B, Bs...> : conditional_t<bool(B::value), B, _disjunction<Bs...>> {};
template <class B>
struct _negation : bool_constant<!bool(B::value)> {};

ASSAY_KEEPS(remove_const)
ASSAY_MATCHES(remove_const, const T)
ASSAY_KEEPS(remove_volatile)
ASSAY_MATCHES(remove_volatile, volatile T)

namespace __detail {
ASSAY_KEEPS(remove_space)
ASSAY_MATCHES(remove_space, __private T)
ASSAY_MATCHES(remove_space, __local T)
ASSAY_MATCHES(remove_space, __global T)
ASSAY_MATCHES(remove_space, __generic T)
ASSAY_MATCHES(remove_space, __attribute__((opencl_global_device)) T)
}  // namespace __detail

template <class T>
struct remove_cv {
  typedef typename remove_const<typename remove_volatile<T>::type>::type type;
};
ASSAY_KEEPS(remove_reference)
ASSAY_MATCHES(remove_reference, T&)
ASSAY_MATCHES(remove_reference, T&&)
namespace __detail {
// Metal's decayed types name no address space, so this trait removes it with the reference.
template <class T>
struct remove_cvref {
  typedef typename remove_cv<typename remove_space<typename remove_cv<typename remove_reference<T>::type>::type>::type>::type type;
};
ASSAY_TRAIT_TYPE(remove_cvref)
}  // namespace __detail
ASSAY_KEEPS(remove_extent)
template <class T, size_t n>
struct remove_extent<T[n]> {
  typedef T type;
};

ASSAY_KEEPS(remove_pointer)
ASSAY_MATCHES(remove_pointer, T __private*)
ASSAY_MATCHES(remove_pointer, T __local*)
ASSAY_MATCHES(remove_pointer, T __global*)
ASSAY_MATCHES(remove_pointer, T __generic*)
ASSAY_MATCHES(remove_pointer, T __attribute__((opencl_global_device)) *)

ASSAY_TRAIT_TYPE(remove_const)
ASSAY_TRAIT_TYPE(remove_volatile)
ASSAY_TRAIT_TYPE(remove_cv)
ASSAY_TRAIT_TYPE(remove_reference)
ASSAY_TRAIT_TYPE(remove_extent)
ASSAY_TRAIT_TYPE(remove_pointer)
template <class T>
struct decay {
  typedef __detail::remove_cvref_t<T> type;
};
ASSAY_TRAIT_TYPE(decay)
template <class T>
struct add_const {
  typedef const T type;
};
ASSAY_TRAIT_TYPE(add_const)

namespace __detail {
template <class T>
struct integral : false_type {};
template <class T>
struct floating : false_type {};
#define ASSAY_INTEGRAL(T) \
  template <>             \
  struct integral<T> : true_type {};
ASSAY_INTEGRAL(bool)
ASSAY_INTEGRAL(char)
ASSAY_INTEGRAL(signed char)
ASSAY_INTEGRAL(uchar)
ASSAY_INTEGRAL(short)
ASSAY_INTEGRAL(ushort)
ASSAY_INTEGRAL(int)
ASSAY_INTEGRAL(uint)
ASSAY_INTEGRAL(long)
ASSAY_INTEGRAL(ulong)
#undef ASSAY_INTEGRAL
template <>
struct floating<half> : true_type {};
template <>
struct floating<bfloat> : true_type {};
template <>
struct floating<float> : true_type {};
}  // namespace __detail

ASSAY_TRAIT(is_void, is_same<remove_cv_t<T>, void>::value)
ASSAY_TRAIT(is_integral, __detail::integral<typename __detail::remove_space<remove_cv_t<T>>::type>::value)
ASSAY_TRAIT(is_floating_point, __detail::floating<typename __detail::remove_space<remove_cv_t<T>>::type>::value)
ASSAY_TRAIT(is_arithmetic, is_integral<T>::value || is_floating_point<T>::value)
ASSAY_TRAIT(is_const, __is_const(T))
ASSAY_TRAIT(is_volatile, __is_volatile(T))
ASSAY_TRAIT(is_pointer, __is_pointer(T))
ASSAY_TRAIT(is_reference, __is_reference(T))
ASSAY_TRAIT(is_lvalue_reference, __is_lvalue_reference(T))
ASSAY_TRAIT(is_array, __is_array(T))
ASSAY_TRAIT(is_enum, __is_enum(T))
ASSAY_TRAIT(is_union, __is_union(T))
ASSAY_TRAIT(is_class, __is_class(T))
ASSAY_TRAIT(is_function, __is_function(T))
template <class T, bool = is_arithmetic<T>::value>
struct is_signed : bool_constant<(remove_cv_t<T>(-1) < remove_cv_t<T>(0))> {};
template <class T>
struct is_signed<T, false> : false_type {};
ASSAY_TRAIT(is_unsigned, is_arithmetic<T>::value && !is_signed<T>::value)
template <class From, class To>
struct is_convertible : bool_constant<__is_convertible_to(From, To)> {};

template <class T>
__global constexpr const bool is_signed_v = is_signed<T>::value;
template <class T, class U>
__global constexpr const bool is_same_v = is_same<T, U>::value;
template <class From, class To>
__global constexpr const bool is_convertible_v = is_convertible<From, To>::value;

namespace __detail {
template <class T>
struct sign_pair {};
#define ASSAY_SIGN_PAIR(S, U) \
  template <>                 \
  struct sign_pair<S> {       \
    typedef S with_sign;      \
    typedef U without_sign;   \
  };                          \
  template <>                 \
  struct sign_pair<U> {       \
    typedef S with_sign;      \
    typedef U without_sign;   \
  };
ASSAY_SIGN_PAIR(char, uchar)
ASSAY_SIGN_PAIR(short, ushort)
ASSAY_SIGN_PAIR(int, uint)
ASSAY_SIGN_PAIR(long, ulong)
#undef ASSAY_SIGN_PAIR
}  // namespace __detail
// Extended to vectors in vec.h.
template <class T>
struct make_unsigned {
  typedef typename __detail::sign_pair<remove_cv_t<T>>::without_sign type;
};
template <class T>
struct make_signed {
  typedef typename __detail::sign_pair<remove_cv_t<T>>::with_sign type;
};
ASSAY_TRAIT_TYPE(make_unsigned)
ASSAY_TRAIT_TYPE(make_signed)

// For unevaluated operands only.
template <class T>
T&& declval();

}  // namespace metal
