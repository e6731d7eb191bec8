// Archives types of metal/ for other processes (base/archive.h).
#pragma once

#include <cstdint>

#include "base/archive.h"
#include "metal/cost.h"
#include "metal/engine.h"
#include "metal/hazard.h"
#include "metal/policy.h"
#include "metal/size3.h"

namespace assay::metal {

constexpr std::uint64_t largest(HazardKind) { return static_cast<std::uint64_t>(kLastHazardKind); }
constexpr std::uint64_t largest(Policy) { return static_cast<std::uint64_t>(Policy::shadow); }
constexpr std::uint64_t largest(Engine) { return static_cast<std::uint64_t>(Engine::fibers); }

void fields(auto& archive, base::OneOf<Size3> auto& value) {
  auto& [x, y, z] = value;
  each(archive, x, y, z);
}

void fields(auto& archive, base::OneOf<SourceLocation> auto& value) {
  auto& [file, line] = value;
  each(archive, file, line);
}

void fields(auto& archive, base::OneOf<Hazard> auto& value) {
  auto& [kind, function, message, first, second, count, lacks_line, written, first_writes, second_writes] = value;
  each(archive, kind, function, message, first, second, count, lacks_line, written, first_writes, second_writes);
}

void fields(auto& archive, base::OneOf<ExecutionCounters> auto& value) {
  auto& [threadgroups, meeting_points, collectives, divergent_collectives, matrix_multiplies] = value;
  each(archive, threadgroups, meeting_points, collectives, divergent_collectives, matrix_multiplies);
}

void fields(auto& archive, base::OneOf<Cost> auto& value) {
  auto& [device_bytes_read, device_bytes_written, distinct_device_bytes, threadgroup_accesses, simdgroup_calls, barriers, float_operations,
         half_operations, bfloat_operations] = value;
  each(archive, device_bytes_read, device_bytes_written, distinct_device_bytes, threadgroup_accesses, simdgroup_calls, barriers,
       float_operations, half_operations, bfloat_operations);
}

}  // namespace assay::metal
