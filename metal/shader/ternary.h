// The text that the translator writes around the operands of `?:`, so that a variable and a temporary of one class unify.
//
// In C++ for OpenCL a variable's class type is qualified with its address space and a temporary's is not. The compiler has no
// conversion between the two, so `c ? v : float4(0)` would not compile. `(metal::__detail::Value(), v)` is the value of v if its type
// is a class. Otherwise it is v itself (the built-in comma), so that scalars, pointers and void stay unchanged. A literal 0 must not be
// wrapped where it is a null pointer.
#pragma once

#include "traits.h"

namespace metal {
namespace __detail {

struct Value {};
template <class T, class V = remove_cvref_t<T>, class = enable_if_t<__is_class(V) || __is_union(V)>>
constexpr V operator,(Value, T&& x) {
  return x;
}

}  // namespace __detail
}  // namespace metal
