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

namespace __detail {
template <class T>
struct type_identity {
  typedef T type;
};
template <class T>
using type_identity_t = typename type_identity<T>::type;
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
template <class T>
struct without_private {
  typedef T type;
};
template <class T>
struct without_private<__private T> {
  typedef T type;
};
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

template <class T>
struct remove_const {
  typedef T type;
};
template <class T>
struct remove_const<const T> {
  typedef T type;
};
template <class T>
struct remove_volatile {
  typedef T type;
};
template <class T>
struct remove_volatile<volatile T> {
  typedef T type;
};

namespace __detail {
template <class T>
struct remove_space {
  typedef T type;
};
template <class T>
struct remove_space<__private T> {
  typedef T type;
};
template <class T>
struct remove_space<__local T> {
  typedef T type;
};
template <class T>
struct remove_space<__global T> {
  typedef T type;
};
template <class T>
struct remove_space<__generic T> {
  typedef T type;
};
template <class T>
struct remove_space<__attribute__((opencl_global_device)) T> {
  typedef T type;
};
}  // namespace __detail

template <class T>
struct remove_cv {
  typedef typename remove_const<typename remove_volatile<T>::type>::type type;
};
template <class T>
struct remove_reference {
  typedef T type;
};
template <class T>
struct remove_reference<T&> {
  typedef T type;
};
template <class T>
struct remove_reference<T&&> {
  typedef T type;
};
namespace __detail {
// Metal's decayed types name no address space, so this trait removes it with the reference.
template <class T>
struct remove_cvref {
  typedef typename remove_cv<typename remove_space<typename remove_cv<typename remove_reference<T>::type>::type>::type>::type type;
};
template <class T>
using remove_cvref_t = typename remove_cvref<T>::type;
}  // namespace __detail
template <class T>
struct remove_extent {
  typedef T type;
};
template <class T, size_t n>
struct remove_extent<T[n]> {
  typedef T type;
};

template <class T>
struct remove_pointer {
  typedef T type;
};
template <class T>
struct remove_pointer<T __private*> {
  typedef T type;
};
template <class T>
struct remove_pointer<T __local*> {
  typedef T type;
};
template <class T>
struct remove_pointer<T __global*> {
  typedef T type;
};
template <class T>
struct remove_pointer<T __generic*> {
  typedef T type;
};
template <class T>
struct remove_pointer<T __attribute__((opencl_global_device))*> {
  typedef T type;
};

template <class T>
using remove_const_t = typename remove_const<T>::type;
template <class T>
using remove_volatile_t = typename remove_volatile<T>::type;
template <class T>
using remove_cv_t = typename remove_cv<T>::type;
template <class T>
using remove_reference_t = typename remove_reference<T>::type;
template <class T>
using remove_extent_t = typename remove_extent<T>::type;
template <class T>
using remove_pointer_t = typename remove_pointer<T>::type;
template <class T>
struct decay {
  typedef __detail::remove_cvref_t<T> type;
};
template <class T>
using decay_t = typename decay<T>::type;
template <class T>
struct add_const {
  typedef const T type;
};
template <class T>
using add_const_t = typename add_const<T>::type;

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

template <class T>
struct is_void : is_same<remove_cv_t<T>, void> {};
template <class T>
struct is_integral : __detail::integral<typename __detail::remove_space<remove_cv_t<T>>::type> {};
template <class T>
struct is_floating_point : __detail::floating<typename __detail::remove_space<remove_cv_t<T>>::type> {};
template <class T>
struct is_arithmetic : bool_constant<is_integral<T>::value || is_floating_point<T>::value> {};
template <class T>
struct is_const : bool_constant<__is_const(T)> {};
template <class T>
struct is_volatile : bool_constant<__is_volatile(T)> {};
template <class T>
struct is_pointer : bool_constant<__is_pointer(T)> {};
template <class T>
struct is_reference : bool_constant<__is_reference(T)> {};
template <class T>
struct is_lvalue_reference : bool_constant<__is_lvalue_reference(T)> {};
template <class T>
struct is_array : bool_constant<__is_array(T)> {};
template <class T>
struct is_enum : bool_constant<__is_enum(T)> {};
template <class T>
struct is_union : bool_constant<__is_union(T)> {};
template <class T>
struct is_class : bool_constant<__is_class(T)> {};
template <class T>
struct is_function : bool_constant<__is_function(T)> {};
template <class T, bool = is_arithmetic<T>::value>
struct is_signed : bool_constant<(remove_cv_t<T>(-1) < remove_cv_t<T>(0))> {};
template <class T>
struct is_signed<T, false> : false_type {};
template <class T>
struct is_unsigned : bool_constant<is_arithmetic<T>::value && !is_signed<T>::value> {};
template <class From, class To>
struct is_convertible : bool_constant<__is_convertible_to(From, To)> {};

#define ASSAY_TRAIT_VALUE(name) \
  template <class T>            \
  __global constexpr const bool name##_v = name<T>::value;
ASSAY_TRAIT_VALUE(is_void)
ASSAY_TRAIT_VALUE(is_integral)
ASSAY_TRAIT_VALUE(is_floating_point)
ASSAY_TRAIT_VALUE(is_arithmetic)
ASSAY_TRAIT_VALUE(is_const)
ASSAY_TRAIT_VALUE(is_volatile)
ASSAY_TRAIT_VALUE(is_pointer)
ASSAY_TRAIT_VALUE(is_reference)
ASSAY_TRAIT_VALUE(is_lvalue_reference)
ASSAY_TRAIT_VALUE(is_array)
ASSAY_TRAIT_VALUE(is_enum)
ASSAY_TRAIT_VALUE(is_union)
ASSAY_TRAIT_VALUE(is_class)
ASSAY_TRAIT_VALUE(is_function)
ASSAY_TRAIT_VALUE(is_signed)
ASSAY_TRAIT_VALUE(is_unsigned)
#undef ASSAY_TRAIT_VALUE
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
template <class T>
using make_unsigned_t = typename make_unsigned<T>::type;
template <class T>
using make_signed_t = typename make_signed<T>::type;

// For unevaluated operands only.
template <class T>
T&& declval();

}  // namespace metal
