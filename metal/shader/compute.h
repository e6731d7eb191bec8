// <metal_compute>: barriers and fences.
#pragma once

#include "atomic.h"
#include "runtime.h"

namespace metal {

enum class mem_flags : uint {
  mem_none = 0,
  mem_device = 1,
  mem_threadgroup = 2,
  mem_texture = 4,
  mem_threadgroup_imageblock = 8,
  mem_object_data = 16
};
inline constexpr mem_flags operator|(mem_flags a, mem_flags b) { return mem_flags(uint(a) | uint(b)); }
inline constexpr mem_flags operator&(mem_flags a, mem_flags b) { return mem_flags(uint(a) & uint(b)); }

inline void threadgroup_barrier(mem_flags flags, memory_order = memory_order_relaxed, thread_scope = thread_scope_threadgroup) {
  __assay_barrier(__detail::barrier_threadgroup, uint(flags));
}
inline void simdgroup_barrier(mem_flags flags, memory_order = memory_order_relaxed, thread_scope = thread_scope_simdgroup) {
  __assay_barrier(__detail::barrier_simdgroup, uint(flags));
}

// A fence orders this lane's own accesses. The simulator performs these in program order, so a barrier to the compiler is enough.
inline void atomic_thread_fence(mem_flags flags, memory_order, thread_scope = thread_scope_device) {
  __asm__ volatile("" ::: "memory");
  __assay_fence(uint(flags));
}

}  // namespace metal
