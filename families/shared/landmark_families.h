// The landmarks of the attention families whose launch and inputs are shared.
#pragma once

#include <cstddef>
#include <span>

#include "families/family.h"
#include "families/landmarks.h"
#include "families/shared/decode_inputs.h"

namespace assay::families {

// Rows are heads; keys are counted by slots.
[[nodiscard]] LandmarksOf decode_landmarks(FormatOf format_of);
// A LandmarksOf. Rows are [batch, head, query].
[[nodiscard]] Landmarks dense_landmarks(const Case& test_case, const Source& source, std::span<const std::size_t> rows);

}  // namespace assay::families
