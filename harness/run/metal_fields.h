// What travels between processes (base/archive.h) of metal/'s types.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "base/archive.h"
#include "metal/simulator.h"

namespace assay::metal {

constexpr std::uint64_t largest(HazardKind) { return static_cast<std::uint64_t>(kLastHazardKind); }
constexpr std::uint64_t largest(Policy) { return static_cast<std::uint64_t>(Policy::shadow); }

template <typename Archive, typename T>
  requires std::same_as<std::remove_const_t<T>, Size3>
void fields(Archive& archive, T& value) {
  auto& [x, y, z] = value;
  each(archive, x, y, z);
}

template <typename Archive, typename T>
  requires std::same_as<std::remove_const_t<T>, SourceLocation>
void fields(Archive& archive, T& value) {
  auto& [file, line] = value;
  each(archive, file, line);
}

template <typename Archive, typename T>
  requires std::same_as<std::remove_const_t<T>, Hazard>
void fields(Archive& archive, T& value) {
  auto& [kind, function, message, first, second, count] = value;
  each(archive, kind, function, message, second, count);
  fields(archive, first);
}

template <typename Archive, typename T>
  requires std::same_as<std::remove_const_t<T>, ExecutionCounters>
void fields(Archive& archive, T& value) {
  auto& [threadgroups, meeting_points, collectives, divergent_collectives, matrix_multiplies] = value;
  each(archive, threadgroups, meeting_points, collectives, divergent_collectives, matrix_multiplies);
}

template <typename Archive, typename T>
  requires std::same_as<std::remove_const_t<T>, Cost>
void fields(Archive& archive, T& value) {
  auto& [device_bytes_read, device_bytes_written, distinct_device_bytes, threadgroup_accesses, simdgroup_calls, barriers, float_operations,
         half_operations, bfloat_operations] = value;
  each(archive, device_bytes_read, device_bytes_written, distinct_device_bytes, threadgroup_accesses, simdgroup_calls, barriers,
       float_operations, half_operations, bfloat_operations);
}

}  // namespace assay::metal
