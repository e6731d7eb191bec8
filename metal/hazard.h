// The kinds of hazards, which a correct kernel never causes, and a hazard that was detected.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "metal/source_location.h"

namespace assay::metal {

enum class HazardKind {
  barrier_divergence,
  dispatch_hazard,
  invalid_access,
  // Only the policy `checked` detects these, except misaligned accesses, which every policy detects.
  out_of_bounds,       // of the bound view, the threadgroup argument or variable
  uninitialised_read,  // of a byte that neither the host nor a kernel has written
  misaligned_access,   // at an address that is not a multiple of the type's alignment
  threadgroup_race,    // in threadgroup or device memory, between simdgroups of a threadgroup
  unfenced_barrier,    // the same, if a barrier between the two accesses does not fence that memory
  device_race,         // in device memory, between threadgroups of one dispatch
  simdgroup_race,      // in threadgroup or device memory, within one simdgroup: harmless in lockstep, undefined by the language
  identical_writes,    // unordered writes of the same bits to one place
  nonfinite_result,    // a NaN from an operation on other numbers, or an infinity from one on finite numbers
  lost_index_bits,     // a conversion to a type that cannot hold an index
};
inline constexpr HazardKind kLastHazardKind = HazardKind::lost_index_bits;
[[nodiscard]] std::string_view to_string(HazardKind kind);
// Whether a kernel with such a hazard is wrong. The other kinds are only listed.
[[nodiscard]] bool is_defect(HazardKind kind);

// Equal hazards are merged and counted.
struct Hazard {
  HazardKind kind = HazardKind::barrier_divergence;
  std::string function;
  std::string message;  // one line, names both parties
  SourceLocation first;
  std::optional<SourceLocation> second;
  std::uint64_t count = 1;
  bool lacks_line = false;    // of an invalid access: its line is not known, and `first` is the kernel's
  std::uint32_t written = 0;  // memory beside which it wrote: bit i is buffer i, bit 31 is threadgroup memory; 0: not known
  bool first_writes = false, second_writes = false;  // of a race: which of its accesses change memory
};
inline constexpr std::uint32_t kWroteBesideThreadgroupMemory = std::uint32_t{1} << 31U;

// Adds a hazard, or adds its count to that of an equal one (same kind, function and places).
void merge(std::vector<Hazard>& hazards, Hazard hazard);

}  // namespace assay::metal
