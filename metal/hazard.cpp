// Names hazards, and merges equal ones.
#include "metal/hazard.h"

#include <algorithm>
#include <utility>

namespace assay::metal {

std::string_view to_string(HazardKind kind) {
  switch (kind) {
    case HazardKind::barrier_divergence:
      return "barrier divergence";
    case HazardKind::dispatch_hazard:
      return "dispatch hazard";
    case HazardKind::invalid_access:
      return "invalid access";
    case HazardKind::out_of_bounds:
      return "out of bounds";
    case HazardKind::uninitialised_read:
      return "uninitialised read";
    case HazardKind::misaligned_access:
      return "misaligned access";
    case HazardKind::threadgroup_race:
      return "race between simdgroups";
    case HazardKind::unfenced_barrier:
      return "barrier that fences nothing";
    case HazardKind::device_race:
      return "race between threadgroups";
    case HazardKind::simdgroup_race:
      return "race within a simdgroup";
    case HazardKind::identical_writes:
      return "identical writes";
    case HazardKind::nonfinite_result:
      return "non-finite result";
  }
  return "hazard";
}

bool is_defect(HazardKind kind) {
  return kind != HazardKind::simdgroup_race && kind != HazardKind::identical_writes && kind != HazardKind::nonfinite_result;
}

void merge(std::vector<Hazard>& hazards, Hazard hazard) {
  const auto equal = std::find_if(hazards.begin(), hazards.end(), [&](const Hazard& other) {
    return other.kind == hazard.kind && other.function == hazard.function && other.first == hazard.first && other.second == hazard.second;
  });
  if (equal == hazards.end()) {
    hazards.push_back(std::move(hazard));
  } else {
    equal->count += hazard.count;
  }
}

}  // namespace assay::metal
