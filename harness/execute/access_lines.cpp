// Finds the lines of invalid accesses.
#include "harness/execute/access_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace assay::harness {
namespace {

bool can_be(const metal::Hazard& unplaced, const metal::Hazard& checked) {
  const bool is_access = checked.kind == metal::HazardKind::out_of_bounds || checked.kind == metal::HazardKind::invalid_access;
  if (!is_access || checked.function != unplaced.function) return false;
  return unplaced.written == 0 || (unplaced.written & checked.written) != 0;
}

constexpr std::string_view kSource = "(the line is that of policy checked)";

}  // namespace

bool any_lacks_line(std::span<const metal::Hazard> hazards) { return std::ranges::any_of(hazards, &metal::Hazard::lacks_line); }

void take_lines(std::vector<metal::Hazard>& hazards, std::span<const metal::Hazard> checked) {
  for (metal::Hazard& hazard : hazards) {
    if (!hazard.lacks_line) continue;
    const metal::Hazard* only = nullptr;
    bool is_certain = true;
    for (const metal::Hazard& candidate : checked) {
      if (!can_be(hazard, candidate)) continue;
      is_certain = is_certain && !candidate.lacks_line && (only == nullptr || only->first == candidate.first);
      only = &candidate;
    }
    if (only == nullptr || !is_certain) continue;
    hazard.first = only->first;
    hazard.lacks_line = false;
    hazard.message = fmt::format("{}:{}: {} {}", only->first.file, only->first.line, hazard.message, kSource);
  }
}

std::optional<metal::Hazard> find_stray_write(std::span<const metal::Hazard> checked) {
  const metal::Hazard* only = nullptr;
  for (const metal::Hazard& candidate : checked) {
    const bool is_access = candidate.kind == metal::HazardKind::out_of_bounds || candidate.kind == metal::HazardKind::invalid_access;
    if (!is_access || (candidate.written & ~metal::kWroteBesideThreadgroupMemory) == 0) continue;
    if (candidate.lacks_line || (only != nullptr && only->first != candidate.first)) return std::nullopt;
    only = &candidate;
  }
  if (only == nullptr) return std::nullopt;
  metal::Hazard found = *only;
  found.message += fmt::format(" {}", kSource);
  return found;
}

}  // namespace assay::harness
