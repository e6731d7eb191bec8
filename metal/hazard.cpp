// Names hazards, and merges equal ones.
#include "metal/hazard.h"

#include <algorithm>
#include <array>
#include <utility>

namespace assay::metal {

// In the order of HazardKind.
constexpr std::array<std::string_view, 13> kKinds = {"barrier divergence",
                                                     "dispatch hazard",
                                                     "invalid access",
                                                     "out of bounds",
                                                     "uninitialised read",
                                                     "misaligned access",
                                                     "race between simdgroups",
                                                     "barrier that fences nothing",
                                                     "race between threadgroups",
                                                     "race within a simdgroup",
                                                     "identical writes",
                                                     "non-finite result",
                                                     "lost index bits"};
static_assert(kKinds.size() == static_cast<std::size_t>(kLastHazardKind) + 1);

std::string_view to_string(HazardKind kind) { return kKinds.at(static_cast<std::size_t>(kind)); }

bool is_defect(HazardKind kind) {
  return kind != HazardKind::simdgroup_race && kind != HazardKind::identical_writes && kind != HazardKind::nonfinite_result;
}

void merge(std::vector<Hazard>& hazards, Hazard hazard) {
  const auto equal = std::find_if(hazards.begin(), hazards.end(), [&](const Hazard& other) {
    return other.kind == hazard.kind && other.function == hazard.function && other.first == hazard.first && other.second == hazard.second &&
           other.lacks_line == hazard.lacks_line;
  });
  if (equal == hazards.end()) {
    hazards.push_back(std::move(hazard));
  } else {
    equal->count += hazard.count;
    equal->written |= hazard.written;
  }
}

}  // namespace assay::metal
