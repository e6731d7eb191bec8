// Names that Metal's library may or may not have: names of C++, internal names of Apple's headers, and names that kernels define
// themselves, some of them in namespace metal.
//
// They are outside of namespace metal. The translator adds the names that a source mentions and does not declare
// (translate/offered_names.cpp). A class template that is found in two namespaces would be ambiguous.
#pragma once

#include "packed.h"
#include "traits.h"

namespace __assay {
namespace offered {

using namespace metal;
using metal::__detail::remove_cvref;
using metal::__detail::remove_cvref_t;
using metal::__detail::type_identity;
using metal::__detail::type_identity_t;

template <class...>
using void_t = void;
template <class... B>
using conjunction = metal::_conjunction<B...>;
template <class... B>
using disjunction = metal::_disjunction<B...>;
template <class B>
using negation = metal::_negation<B>;
template <class... B>
__global constexpr const bool conjunction_v = metal::_conjunction<B...>::value;
template <class... B>
__global constexpr const bool disjunction_v = metal::_disjunction<B...>::value;
template <class B>
__global constexpr const bool negation_v = !bool(B::value);

ASSAY_TRAIT(is_empty, __is_empty(T))
ASSAY_TRAIT(is_trivial, __is_trivial(T))
ASSAY_TRAIT(is_trivially_copyable, __is_trivially_copyable(T))
ASSAY_TRAIT(is_standard_layout, __is_standard_layout(T))
template <class Base, class Derived>
struct is_base_of : bool_constant<__is_base_of(Base, Derived)> {};
template <class Base, class Derived>
__global constexpr const bool is_base_of_v = is_base_of<Base, Derived>::value;
template <class T, class... A>
struct is_constructible : bool_constant<__is_constructible(T, A...)> {};
template <class T, class... A>
__global constexpr const bool is_constructible_v = is_constructible<T, A...>::value;
template <class T, class U>
struct is_assignable : bool_constant<__is_assignable(T, U)> {};
template <class T, class U>
__global constexpr const bool is_assignable_v = is_assignable<T, U>::value;
template <class T>
struct rank : integral_constant<size_t, 0> {};
template <class T, size_t n>
struct rank<T[n]> : integral_constant<size_t, rank<T>::value + 1> {};
template <class T>
struct alignment_of : integral_constant<size_t, alignof(T)> {};

// The type without its address space.
template <class T>
struct remove_addrspace : metal::__detail::remove_space<T> {};
ASSAY_TRAIT_TYPE(remove_addrspace)

// The component type and the number of components of a vector. A scalar is its own single component.
ASSAY_KEEPS(make_scalar)
template <class T, int N>
struct make_scalar<vec<T, N>> {
  typedef T type;
};
template <class T, int N>
struct make_scalar<packed_vec<T, N>> {
  typedef T type;
};
ASSAY_TRAIT_TYPE(make_scalar)
template <class T>
struct vec_elements : integral_constant<int, 1> {};
template <class T, int N>
struct vec_elements<vec<T, N>> : integral_constant<int, N> {};
template <class T, int N>
struct vec_elements<packed_vec<T, N>> : integral_constant<int, N> {};
template <class T>
__global constexpr const int vec_elements_v = vec_elements<T>::value;
ASSAY_TRAIT(is_vector, (vec_elements<T>::value > 1))

// The types that SIMD-group functions take (simd.h).
template <class T, class = void>
struct __is_valid_simdgroup_type : bool_constant<is_arithmetic<make_scalar_t<T>>::value && sizeof(make_scalar_t<T>) <= 4 &&
                                                 !is_same<make_scalar_t<T>, bool>::value && !is_same<make_scalar_t<T>, bfloat>::value> {};
template <class T>
__global constexpr const bool __is_valid_simdgroup_type_v = __is_valid_simdgroup_type<T>::value;

template <class T>
struct underlying_type {
  typedef __underlying_type(T) type;
};
ASSAY_TRAIT_TYPE(underlying_type)

// The type of `condition ? a : b` for two types, from left to right.
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

ASSAY_KEEPS(remove_all_extents)
template <class T, size_t n>
struct remove_all_extents<T[n]> : remove_all_extents<T> {};
ASSAY_TRAIT_TYPE(remove_all_extents)

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

ASSAY_TRAIT(is_fundamental, is_arithmetic<T>::value || is_void<T>::value)
ASSAY_TRAIT(is_scalar, is_arithmetic<T>::value || is_enum<T>::value || is_pointer<T>::value)
ASSAY_TRAIT(is_default_constructible, __is_constructible(T))
ASSAY_TRAIT(is_copy_constructible, __is_constructible(T, const T&))
ASSAY_TRAIT(is_trivially_default_constructible, __is_trivially_constructible(T))

// From <metal_utility>. The empty pack makes a kernel's own template of the same parameters the more specialised one.
template <class T, class... None>
inline void swap(__private T& a, __private T& b, None...) {
  static_assert(sizeof...(None) == 0, "swap takes two arguments");
  T held = a;
  a = b;
  b = held;
}

template <class A, class B>
struct pair {
  A first;
  B second;
};
template <class A, class B>
constexpr pair<A, B> make_pair(A a, B b) {
  return pair<A, B>{a, b};
}

// The empty pack makes these two yield to a kernel's own function of the same parameters, as does swap in array.h: a template with an
// extra pack is less specialised.
template <class T, class... None>
constexpr remove_reference_t<T>&& move(T&& value, None...) {
  static_assert(sizeof...(None) == 0, "move takes one argument");
  return static_cast<remove_reference_t<T>&&>(value);
}
template <class T, class... None>
constexpr T&& forward(remove_reference_t<T>& value, None...) {
  static_assert(sizeof...(None) == 0, "forward takes one argument");
  return static_cast<T&&>(value);
}

}  // namespace offered
}  // namespace __assay

#undef ASSAY_TRAIT
#undef ASSAY_TRAIT_TYPE
#undef ASSAY_KEEPS
#undef ASSAY_MATCHES
