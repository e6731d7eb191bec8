// What dispatches cost: counters of the simulator, and the operations and bytes that a kernel would cost anywhere.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "metal/source_location.h"

namespace assay::metal {

// What the simulator did; the same numbers in every run of the same work.
struct ExecutionCounters {
  std::uint64_t threadgroups = 0;
  std::uint64_t meeting_points = 0;  // simdgroup-wide: stores committed, collectives, barriers
  std::uint64_t collectives = 0;     // SIMD-group functions evaluated, once per simdgroup
  // Of those, with fewer lanes than are alive. A lane that reaches no further meeting point counts as returned: skipping a branch and
  // `return` are the same control flow.
  std::uint64_t divergent_collectives = 0;
  std::uint64_t matrix_multiplies = 0;  // 8x8 multiply(-accumulate)s evaluated
};

// What kernels would cost on any device; the same numbers in every run of the same work.
struct Cost {
  std::uint64_t device_bytes_read = 0;      // through device pointers, summed over the lanes
  std::uint64_t device_bytes_written = 0;   // atomic operations read and write
  std::uint64_t distinct_device_bytes = 0;  // of these, each byte once in a dispatch
  std::uint64_t threadgroup_accesses = 0;   // reads, writes and atomic operations of threadgroup memory, by lane
  std::uint64_t simdgroup_calls = 0;        // SIMD-group functions, matrix products and atomic operations, once per simdgroup
  std::uint64_t barriers = 0;               // of threadgroups and simdgroups, once per simdgroup
  // Additions, products, quotients, roots by component; a fused multiply-add is two. A library function is one, of float.
  std::uint64_t float_operations = 0;
  std::uint64_t half_operations = 0;
  std::uint64_t bfloat_operations = 0;
  friend bool operator==(const Cost&, const Cost&) = default;
  Cost& operator+=(const Cost& part);
};
struct LineCost {
  SourceLocation place;
  Cost cost;
  friend bool operator==(const LineCost&, const LineCost&) = default;
};
struct KernelCost {
  std::string function;
  std::uint64_t dispatches = 0;
  Cost total;                   // bytes that several lines touch are distinct once
  std::vector<LineCost> lines;  // ascending
  friend bool operator==(const KernelCost&, const KernelCost&) = default;
};

}  // namespace assay::metal
