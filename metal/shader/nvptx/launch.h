// A kernel's arguments and the position of a thread: from the launch's only parameter, and from the hardware's registers.
#pragma once

#include "../types.h"

// assay::metal::cuda_abi::Launch, which says what the members are.
struct __assay_launch {
  ulong buffers[31];
  uint threadgroup_arguments[31];
  uint grid[3];
  uint threads[3];
  uint total[3];
};
static_assert(sizeof(__assay_launch) == 408, "metal/cuda_abi.h declares the same struct");

extern "C" {

// The pass knows these two: the kernel's parameter, and the start of dynamic shared memory.
__attribute__((const)) const __generic __assay_launch* __assay_nvptx_launch();
__attribute__((const)) __local char* __assay_nvptx_shared();

// The translated kernel, behind the code that fetches its arguments.
void __assay_entry(__generic void*);
}

namespace __assay {
namespace nvptx {

// The numbers of assay::metal::abi::Builtin.
enum Position : uint {
  thread_position_in_grid,
  thread_position_in_threadgroup,
  threadgroup_position_in_grid,
  threadgroups_per_grid,
  threads_per_threadgroup,
  dispatch_threads_per_threadgroup,
  threads_per_grid,
  thread_index_in_threadgroup,
  thread_index_in_simdgroup,
  simdgroup_index_in_threadgroup,
  simdgroups_per_threadgroup,
  dispatch_simdgroups_per_threadgroup,
  threads_per_simdgroup,
  thread_index_in_quadgroup,
  quadgroup_index_in_threadgroup,
  quadgroups_per_threadgroup,
  dispatch_quadgroups_per_threadgroup,
  grid_origin,
  grid_size
};

inline uint thread_index() { return uint(__nvvm_read_ptx_sreg_tid_x()); }
inline uint lane_index() { return thread_index() & 31u; }

inline uint threadgroup_position(uint axis) {
  const uint block = uint(__nvvm_read_ptx_sreg_ctaid_x());
  const uint x = __assay_nvptx_launch()->grid[0], y = __assay_nvptx_launch()->grid[1];
  return axis == 0 ? block % x : axis == 1 ? block / x % y : block / x / y;
}
// Threads of this threadgroup along an axis: fewer than dispatched at a ragged edge.
inline uint threads_along(uint axis) {
  const uint dispatched = __assay_nvptx_launch()->threads[axis];
  const uint left = __assay_nvptx_launch()->total[axis] - threadgroup_position(axis) * dispatched;
  return left < dispatched ? left : dispatched;
}
inline uint threads_here() { return threads_along(0) * threads_along(1) * threads_along(2); }
inline uint threads_dispatched() {
  return __assay_nvptx_launch()->threads[0] * __assay_nvptx_launch()->threads[1] * __assay_nvptx_launch()->threads[2];
}
// The threads of a ragged threadgroup are numbered without gaps, as on the simulator.
inline uint thread_position(uint axis) {
  const uint x = threads_along(0), y = threads_along(1);
  return axis == 0 ? thread_index() % x : axis == 1 ? thread_index() / x % y : thread_index() / x / y;
}

// A position of one component. `axis` is 0.
inline uint scalar_position(uint which) {
  switch (which) {
    case thread_index_in_threadgroup:
      return thread_index();
    case thread_index_in_simdgroup:
      return lane_index();
    case simdgroup_index_in_threadgroup:
      return thread_index() / 32;
    case simdgroups_per_threadgroup:
      return (threads_here() + 31) / 32;
    case dispatch_simdgroups_per_threadgroup:
      return (threads_dispatched() + 31) / 32;
    case threads_per_simdgroup:
      return 32;
    case thread_index_in_quadgroup:
      return thread_index() % 4;
    case quadgroup_index_in_threadgroup:
      return thread_index() / 4;
    case quadgroups_per_threadgroup:
      return (threads_here() + 3) / 4;
    case dispatch_quadgroups_per_threadgroup:
      return (threads_dispatched() + 3) / 4;
    default:
      return 0;
  }
}

}  // namespace nvptx
}  // namespace __assay

extern "C" {

__attribute__((used)) inline uint __assay_nvptx_builtin(uint which, uint axis) {
  using namespace __assay::nvptx;
  switch (which) {
    case thread_position_in_grid:
      return threadgroup_position(axis) * __assay_nvptx_launch()->threads[axis] + thread_position(axis);
    case thread_position_in_threadgroup:
      return thread_position(axis);
    case threadgroup_position_in_grid:
      return threadgroup_position(axis);
    case threadgroups_per_grid:
      return __assay_nvptx_launch()->grid[axis];
    case threads_per_threadgroup:
      return threads_along(axis);
    case dispatch_threads_per_threadgroup:
      return __assay_nvptx_launch()->threads[axis];
    case threads_per_grid:
    case grid_size:
      return __assay_nvptx_launch()->total[axis];
    default:
      return axis == 0 ? scalar_position(which) : 0;
  }
}

__attribute__((used)) inline uint __assay_nvptx_lane() { return __assay::nvptx::lane_index(); }

__attribute__((used)) inline __global void* __assay_nvptx_buffer(uint index, uint) {
  return (__global void*)__assay_nvptx_launch()->buffers[index];
}
__attribute__((used)) inline __local void* __assay_nvptx_threadgroup_argument(uint index) {
  return (__local void*)(__assay_nvptx_shared() + __assay_nvptx_launch()->threadgroup_arguments[index]);
}

// Whether the thread lies outside of a ragged grid.
__attribute__((used)) inline uint __assay_nvptx_is_outside() { return __assay::nvptx::thread_index() >= __assay::nvptx::threads_here(); }

__kernel void __assay_kernel(__assay_launch launch) {
  if (__assay_nvptx_is_outside() != 0) return;
  __assay_entry((__generic void*)0);
}
}
