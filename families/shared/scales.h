// Factors from axes that several families have.
#pragma once

#include <cstddef>

#include "families/family.h"

namespace assay::families {

// The factor on scores, from axis `scale`.
[[nodiscard]] float score_scale(const Case& test_case, std::size_t head_dim);
// From axis `scale_factor_d512`.
[[nodiscard]] float scale_factor_d512(const Case& test_case);

}  // namespace assay::families
