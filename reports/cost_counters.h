// The counters of metal::Cost and metal::ExecutionCounters by name.
#pragma once

#include <array>
#include <cstdint>

#include "harness/ledger/ledger.h"

namespace assay::reports {

struct CostCounter {
  const char* key;
  const char* heading;  // in a table
  std::uint64_t metal::Cost::* value;
};
inline constexpr std::array<CostCounter, 9> kCostCounters = {{{"device_bytes_read", "read", &metal::Cost::device_bytes_read},
                                                              {"device_bytes_written", "written", &metal::Cost::device_bytes_written},
                                                              {"distinct_device_bytes", "distinct", &metal::Cost::distinct_device_bytes},
                                                              {"threadgroup_accesses", "threadgroup", &metal::Cost::threadgroup_accesses},
                                                              {"simdgroup_calls", "calls", &metal::Cost::simdgroup_calls},
                                                              {"barriers", "barriers", &metal::Cost::barriers},
                                                              {"float_operations", "float", &metal::Cost::float_operations},
                                                              {"half_operations", "half", &metal::Cost::half_operations},
                                                              {"bfloat_operations", "bfloat", &metal::Cost::bfloat_operations}}};

struct ExecutionCounter {
  const char* key;
  std::uint64_t metal::ExecutionCounters::* value;
};
inline constexpr std::array<ExecutionCounter, 5> kExecutionCounters = {
    {{"threadgroups", &metal::ExecutionCounters::threadgroups},
     {"meeting_points", &metal::ExecutionCounters::meeting_points},
     {"collectives", &metal::ExecutionCounters::collectives},
     {"divergent_collectives", &metal::ExecutionCounters::divergent_collectives},
     {"matrix_multiplies", &metal::ExecutionCounters::matrix_multiplies}}};

}  // namespace assay::reports
