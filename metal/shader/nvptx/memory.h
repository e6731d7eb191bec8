// Barriers, fences and atomic operations on an NVIDIA GPU.
#pragma once

#include "../compute.h"

namespace __assay {
namespace nvptx {

using namespace metal::__detail;

template <class T>
inline T value_of(ulong word) {
  if constexpr (sizeof(T) == 8) return __builtin_bit_cast(T, word);
  if constexpr (sizeof(T) == 4) return __builtin_bit_cast(T, uint(word));
  if constexpr (sizeof(T) == 2) return __builtin_bit_cast(T, ushort(word));
  if constexpr (sizeof(T) == 1) return __builtin_bit_cast(T, uchar(word));
}
template <class T>
inline ulong word_of(T value) {
  if constexpr (sizeof(T) == 8) return __builtin_bit_cast(ulong, value);
  if constexpr (sizeof(T) == 4) return __builtin_bit_cast(uint, value);
  if constexpr (sizeof(T) == 2) return __builtin_bit_cast(ushort, value);
  if constexpr (sizeof(T) == 1) return __builtin_bit_cast(uchar, value);
}

template <class T>
inline T perform_atomic(uint op, __generic T* object, T operand, T desired) {
  switch (op) {
    case atomic_op_load:
      return __atomic_load_n(object, __ATOMIC_RELAXED);
    case atomic_op_store:
    case atomic_op_exchange:
      return __atomic_exchange_n(object, operand, __ATOMIC_RELAXED);
    case atomic_op_compare_exchange:
      __atomic_compare_exchange_n(object, &operand, desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
      return operand;
    case atomic_op_add:
      return __atomic_fetch_add(object, operand, __ATOMIC_RELAXED);
    case atomic_op_sub:
      return __atomic_fetch_sub(object, operand, __ATOMIC_RELAXED);
    case atomic_op_and:
      return __atomic_fetch_and(object, operand, __ATOMIC_RELAXED);
    case atomic_op_or:
      return __atomic_fetch_or(object, operand, __ATOMIC_RELAXED);
    case atomic_op_xor:
      return __atomic_fetch_xor(object, operand, __ATOMIC_RELAXED);
    case atomic_op_min:
      return __atomic_fetch_min(object, operand, __ATOMIC_RELAXED);
    default:
      return __atomic_fetch_max(object, operand, __ATOMIC_RELAXED);
  }
}

template <class T>
inline ulong atomic_on(uint op, __generic void* object, ulong operand, ulong desired) {
  return word_of(perform_atomic(op, (__generic T*)object, value_of<T>(operand), value_of<T>(desired)));
}

// Metal has no other arithmetic on an atomic_float than sums. The hardware adds to global memory with subnormals flushed.
inline ulong atomic_on_float(uint op, __generic void* object, ulong operand, ulong desired) {
  if (op != atomic_op_add && op != atomic_op_sub) return atomic_on<uint>(op, object, operand, desired);
  const float value = value_of<float>(operand);
  return word_of(__atomic_fetch_add((__generic float*)object, op == atomic_op_add ? value : -value, __ATOMIC_RELAXED));
}

}  // namespace nvptx
}  // namespace __assay

extern "C" {

// Returns the old value.
__attribute__((used)) inline ulong __assay_nvptx_atomic(uint op, uint type, __generic void* object, ulong operand, ulong desired) {
  using namespace __assay::nvptx;
  switch (type) {
    case code_uint8:
      return atomic_on<uchar>(op, object, operand, desired);
    case code_int32:
      return atomic_on<int>(op, object, operand, desired);
    case code_uint32:
      return atomic_on<uint>(op, object, operand, desired);
    case code_int64:
      return atomic_on<long>(op, object, operand, desired);
    case code_uint64:
      return atomic_on<ulong>(op, object, operand, desired);
    default:
      return atomic_on_float(op, object, operand, desired);
  }
}

__attribute__((used)) inline void __assay_nvptx_fence(uint flags) {
  if ((flags & uint(metal::mem_flags::mem_device)) != 0)
    __nvvm_membar_gl();
  else
    __nvvm_membar_cta();
}

// The barrier orders the memory of the threadgroup's threads, but not what threads of other threadgroups see.
__attribute__((used)) inline void __assay_nvptx_barrier(uint mask, uint scope, uint flags) {
  if (scope == metal::__detail::barrier_simdgroup) return __nvvm_bar_warp_sync(mask);
  if ((flags & uint(metal::mem_flags::mem_device)) != 0) __nvvm_membar_gl();
  __nvvm_barrier_sync(0);
}

// The compiler calls memcmp for the comparisons of atomic.h.
__attribute__((used)) inline int __assay_nvptx_memcmp(const __generic void* a, const __generic void* b, ulong bytes) {
  const __generic uchar* first = (const __generic uchar*)a;
  const __generic uchar* second = (const __generic uchar*)b;
  for (ulong i = 0; i < bytes; ++i) {
    if (first[i] != second[i]) return first[i] < second[i] ? -1 : 1;
  }
  return 0;
}
}
