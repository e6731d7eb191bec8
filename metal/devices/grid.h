// The size of a dispatch, by Metal's rules for both ways to give it.
#pragma once

#include "metal/argument_layout.h"
#include "metal/size3.h"

namespace assay::metal::devices {

struct Grid {
  Size3 threadgroups;
  Size3 threads;  // of a whole threadgroup
  Size3 total;    // threads along each axis; not a multiple of `threads` if the last threadgroup is smaller
};

// As ComputeEncoder::dispatch_threadgroups. Throws EncodeError if an axis has more threads than 32 bits hold.
[[nodiscard]] Grid grid_of_threadgroups(Size3 threadgroups, Size3 threads_per_threadgroup);
// As ComputeEncoder::dispatch_threads.
[[nodiscard]] Grid grid_of_threads(Size3 threads, Size3 threads_per_threadgroup);

// Throws EncodeError for an empty grid and for more threads in a threadgroup than the kernel allows.
void check_grid(const ArgumentLayout& layout, const Grid& grid);

}  // namespace assay::metal::devices
