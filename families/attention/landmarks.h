// What every right kernel of family `attention` holds at some point.
#pragma once

#include <cstddef>
#include <span>

#include "families/family.h"
#include "families/landmarks.h"

namespace assay::families::attention {

// A LandmarksOf. Rows are [batch, head, query].
[[nodiscard]] Landmarks landmarks_of(const Case& test_case, const Source& source, std::span<const std::size_t> rows);

}  // namespace assay::families::attention
