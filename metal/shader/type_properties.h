// Traits beyond those that the library itself is built on (traits.h).
#pragma once

#include "traits.h"

namespace metal {

template <class T>
struct underlying_type {
  typedef __underlying_type(T) type;
};
template <class T>
using underlying_type_t = typename underlying_type<T>::type;

// What `condition ? a : b` makes of two types, from left to right.
template <class... T>
struct common_type {};
template <class T>
struct common_type<T> {
  typedef decay_t<T> type;
};
template <class T, class U>
struct common_type<T, U> {
  typedef decay_t<decltype(true ? decay_t<T>() : decay_t<U>())> type;
};
template <class T, class U, class V, class... Rest>
struct common_type<T, U, V, Rest...> : common_type<typename common_type<T, U>::type, V, Rest...> {};
template <class... T>
using common_type_t = typename common_type<T...>::type;

template <class T>
struct remove_all_extents {
  typedef T type;
};
template <class T, size_t n>
struct remove_all_extents<T[n]> : remove_all_extents<T> {};
template <class T>
using remove_all_extents_t = typename remove_all_extents<T>::type;

template <class T, unsigned dimension = 0>
struct extent : integral_constant<size_t, 0> {};
template <class T, size_t n>
struct extent<T[n], 0> : integral_constant<size_t, n> {};
template <class T, size_t n, unsigned dimension>
struct extent<T[n], dimension> : extent<T, dimension - 1> {};
template <class T, unsigned dimension = 0>
__global constexpr const size_t extent_v = extent<T, dimension>::value;
template <class T>
__global constexpr const size_t rank_v = rank<T>::value;
template <class T>
__global constexpr const size_t alignment_of_v = alignment_of<T>::value;

template <class T>
struct is_fundamental : bool_constant<is_arithmetic<T>::value || is_void<T>::value> {};
template <class T>
struct is_scalar : bool_constant<is_arithmetic<T>::value || is_enum<T>::value || is_pointer<T>::value> {};
template <class T>
struct is_default_constructible : bool_constant<__is_constructible(T)> {};
template <class T>
struct is_copy_constructible : bool_constant<__is_constructible(T, const T&)> {};
template <class T>
struct is_trivially_default_constructible : bool_constant<__is_trivially_constructible(T)> {};
template <class T>
__global constexpr const bool is_fundamental_v = is_fundamental<T>::value;
template <class T>
__global constexpr const bool is_scalar_v = is_scalar<T>::value;
template <class T>
__global constexpr const bool is_default_constructible_v = is_default_constructible<T>::value;
template <class T>
__global constexpr const bool is_copy_constructible_v = is_copy_constructible<T>::value;
template <class T>
__global constexpr const bool is_trivially_default_constructible_v = is_trivially_default_constructible<T>::value;

}  // namespace metal
