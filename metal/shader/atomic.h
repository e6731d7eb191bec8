// <metal_atomic>: atomic_int, atomic_uint, atomic_bool, atomic_float, atomic_ulong, their explicit functions, and fences.
//
// Every atomic operation is a point where the lanes of a SIMD-group meet, and takes effect lane after lane. Memory orders and scopes
// are accepted but change nothing, because the simulator never reorders accesses.
#pragma once

#include "simd.h"

namespace metal {

// Unscoped, so that both spellings are valid: memory_order_relaxed and memory_order::memory_order_relaxed.
enum memory_order : int {
  memory_order_relaxed = 0,
  memory_order_acquire = 2,
  memory_order_release = 3,
  memory_order_acq_rel = 4,
  memory_order_seq_cst = 5
};
enum thread_scope : int { thread_scope_thread = 0, thread_scope_simdgroup = 4, thread_scope_threadgroup = 1, thread_scope_device = 2 };

template <class T>
struct _atomic {
  static_assert(
      _disjunction<is_same<T, int>, is_same<T, uint>, is_same<T, bool>, is_same<T, float>, is_same<T, long>, is_same<T, ulong>>::value,
      "Metal has atomics of int, uint, bool, float and 64-bit integers");
  _atomic() = default;
  T value_;
};
template <class T>
using atomic = _atomic<T>;

// OpenCL has global types of these names with another meaning. The macros at the end of prelude.h map the names to these types.
typedef _atomic<int> metal_atomic_int;
typedef _atomic<uint> metal_atomic_uint;
typedef _atomic<bool> atomic_bool;
typedef _atomic<float> metal_atomic_float;
typedef _atomic<long> metal_atomic_long;
typedef _atomic<ulong> metal_atomic_ulong;

namespace __detail {

template <class T>
inline T atomic_apply(uint op, __generic void* object, T operand) {
  __assay_atomic(op, scalar_code<T>::value, object, &operand, 0);
  return operand;
}
template <class T>
inline bool atomic_swap(__generic void* object, __private T& expected, T desired) {
  T old = expected;
  __assay_atomic(atomic_op_compare_exchange, scalar_code<T>::value, object, &old, &desired);
  // Metal compares representations, so that a NaN matches itself.
  const bool same = __builtin_memcmp(&old, &expected, sizeof(T)) == 0;
  expected = old;
  return same;
}

}  // namespace __detail

// clang-format off
#define ASSAY_FETCH(space, name, op, requirement)                                                                                 \
  template <class T>                                                                                                              \
  inline T atomic_fetch_##name##_explicit(volatile space _atomic<T>* object, __detail::type_identity_t<T> operand, memory_order) {          \
    requirement;                                                                                                                  \
    return __detail::atomic_apply<T>(__detail::op, (__generic void*)(space void*)object, operand);                                    \
  }
#define ASSAY_NUMBERS static_assert(!is_same<T, bool>::value, "Metal has no arithmetic on atomic_bool")
#define ASSAY_INTEGERS \
  static_assert(is_integral<T>::value && !is_same<T, bool>::value, "this atomic function needs an integer: Metal has none of it for float or bool")
#define ASSAY_BITS static_assert(is_integral<T>::value, "this atomic function needs an integer or bool")
#define ASSAY_ATOMICS(space)                                                                                                      \
  template <class T>                                                                                                              \
  inline T atomic_load_explicit(const volatile space _atomic<T>* object, memory_order) {                                          \
    return __detail::atomic_apply<T>(__detail::atomic_op_load, (__generic void*)(space void*)object, T());                            \
  }                                                                                                                               \
  template <class T>                                                                                                              \
  inline void atomic_store_explicit(volatile space _atomic<T>* object, __detail::type_identity_t<T> desired, memory_order) {                \
    __detail::atomic_apply<T>(__detail::atomic_op_store, (__generic void*)(space void*)object, desired);                              \
  }                                                                                                                               \
  template <class T>                                                                                                              \
  inline T atomic_exchange_explicit(volatile space _atomic<T>* object, __detail::type_identity_t<T> desired, memory_order) {                \
    return __detail::atomic_apply<T>(__detail::atomic_op_exchange, (__generic void*)(space void*)object, desired);                    \
  }                                                                                                                               \
  template <class T>                                                                                                              \
  inline bool atomic_compare_exchange_weak_explicit(volatile space _atomic<T>* object, __private __detail::type_identity_t<T>* expected,    \
                                                    __detail::type_identity_t<T> desired, memory_order, memory_order) {                     \
    return __detail::atomic_swap<T>((__generic void*)(space void*)object, *expected, desired);                                      \
  }                                                                                                                               \
  ASSAY_FETCH(space, add, atomic_op_add, ASSAY_NUMBERS)                                                                           \
  ASSAY_FETCH(space, sub, atomic_op_sub, ASSAY_NUMBERS)                                                                           \
  ASSAY_FETCH(space, and, atomic_op_and, ASSAY_BITS)                                                                              \
  ASSAY_FETCH(space, or, atomic_op_or, ASSAY_BITS)                                                                                \
  ASSAY_FETCH(space, xor, atomic_op_xor, ASSAY_BITS)                                                                              \
  ASSAY_FETCH(space, min, atomic_op_min, ASSAY_INTEGERS)                                                                          \
  ASSAY_FETCH(space, max, atomic_op_max, ASSAY_INTEGERS)                                                                          \
  inline void atomic_min_explicit(volatile space _atomic<ulong>* object, ulong operand, memory_order) {                           \
    __detail::atomic_apply<ulong>(__detail::atomic_op_min, (__generic void*)(space void*)object, operand);                            \
  }                                                                                                                               \
  inline void atomic_max_explicit(volatile space _atomic<ulong>* object, ulong operand, memory_order) {                           \
    __detail::atomic_apply<ulong>(__detail::atomic_op_max, (__generic void*)(space void*)object, operand);                            \
  }
// clang-format on
ASSAY_ATOMICS(__attribute__((opencl_global_device)))
ASSAY_ATOMICS(__local)
#undef ASSAY_ATOMICS
#undef ASSAY_FETCH
#undef ASSAY_NUMBERS
#undef ASSAY_INTEGERS
#undef ASSAY_BITS

}  // namespace metal
