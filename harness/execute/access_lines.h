// Gives accesses whose line a run without checks did not see the line that the same case has under the policy `checked`: invalid
// accesses, and writes to the guard bands of an output.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "metal/hazard.h"

namespace assay::harness {

[[nodiscard]] bool any_lacks_line(std::span<const metal::Hazard> hazards);

// `checked`: the hazards of the same case under the policy `checked`, which checks every access where it is written. A hazard gets the
// line only if it is certain: all accesses of its function that it can be are in one line. A write beside a buffer can only be a write
// beside that buffer; of an access to unmapped memory nothing but its function is known.
void take_lines(std::vector<metal::Hazard>& hazards, std::span<const metal::Hazard> checked);

// The write that changed words beside an output, as `checked` describes it. Nothing unless all writes beside buffers are in one line.
[[nodiscard]] std::optional<metal::Hazard> find_stray_write(std::span<const metal::Hazard> checked);

}  // namespace assay::harness
