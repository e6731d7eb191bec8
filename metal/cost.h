// The cost of dispatches: counters of the simulator, and the operations and bytes that a kernel needs on any device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "metal/source_location.h"

namespace assay::metal {

// The work of the simulator. The same work gives the same numbers in every run.
struct ExecutionCounters {
  std::uint64_t threadgroups = 0;
  std::uint64_t meeting_points = 0;  // simdgroup-wide: stores committed, collectives, barriers
  std::uint64_t collectives = 0;     // SIMD-group functions evaluated, once per simdgroup
  // Collectives with fewer lanes than are alive. A lane that reaches no further meeting point counts as returned, because skipping a
  // branch and `return` are the same control flow. (Vectors also count a lane that could have reached one, but does not.)
  std::uint64_t divergent_collectives = 0;
  std::uint64_t matrix_multiplies = 0;  // 8x8 multiply(-accumulate)s evaluated
};

// The cost of a kernel on any device. The same work gives the same numbers in every run.
struct Cost {
  std::uint64_t device_bytes_read = 0;      // through device pointers, summed over the lanes
  std::uint64_t device_bytes_written = 0;   // the same; an atomic operation both reads and writes
  std::uint64_t distinct_device_bytes = 0;  // of these bytes, each counts once per dispatch
  std::uint64_t threadgroup_accesses = 0;   // reads, writes and atomic operations, by lane
  std::uint64_t simdgroup_calls = 0;        // SIMD-group functions, matrix products and atomic operations, once per simdgroup
  std::uint64_t barriers = 0;               // of threadgroups and simdgroups, once per simdgroup
  // Additions, products, quotients and roots, by component. A fused multiply-add counts as two, a library function of float as one.
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
  Cost total;                   // bytes that several lines touch count once as distinct
  std::vector<LineCost> lines;  // by ascending line
  std::string lane_by_lane;     // why the kernel cannot run as vectors; empty if it can
  friend bool operator==(const KernelCost&, const KernelCost&) = default;
};

}  // namespace assay::metal
