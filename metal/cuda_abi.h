// What a kernel compiled for an NVIDIA GPU is started with: the contract between metal/shader/nvptx/ and the host that launches it.
//
// A threadgroup is a block of one dimension, threads.x * threads.y * threads.z threads; those that lie outside of the grid (a ragged edge)
// return at once. The CUDA grid has one dimension too: block b = x + grid.x * (y + grid.y * z). A SIMD-group is a warp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "metal/lane_abi.h"

namespace assay::metal::cuda_abi {

inline constexpr std::size_t kBuffers = abi::kMaxBuffers;

// The kernel's only parameter, by value.
struct Launch {
  std::uint64_t buffers[kBuffers];                // device addresses; 0: unbound
  std::uint32_t threadgroup_arguments[kBuffers];  // offsets in bytes into dynamic shared memory, multiples of 16
  std::uint32_t grid[3];                          // threadgroups
  std::uint32_t threads[3];                       // of a threadgroup, as dispatched
  std::uint32_t total[3];                         // threads of the grid, no multiple of `threads` if the dispatch is ragged
};
static_assert(sizeof(Launch) == 408, "metal/shader/nvptx/ declares the same struct");

// The kernel's name in the PTX.
inline constexpr const char* kEntry = "__assay_kernel";

// Dynamic shared memory has the kernel's threadgroup variables first (compile::PtxKernel::threadgroup_bytes of them), then the threadgroup
// arguments.
inline constexpr std::size_t kThreadgroupAlignment = 16;

}  // namespace assay::metal::cuda_abi
