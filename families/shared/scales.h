// Factors from axes that several families have.
#pragma once

#include <cstddef>
#include <cstdint>

#include "families/family.h"
#include "families/shared/scale_factor.h"

namespace assay::families {

// Values of the scale axis.
inline constexpr std::int64_t kScaleInverseRoot = 0;  // 1 / sqrt(D), rounded to float
inline constexpr std::int64_t kScaleOne = 1;
// Larger values are the bits of a positive float, for inputs that were captured with another factor.
inline constexpr std::int64_t kScaleLargest = 0x7f7fffff;

// Values of the scale_factor_d512 axis: up to kScaleFactorWhole, the number itself; above, the bits of a positive float (the bits of every
// float from 2^-125 on are larger), such as kScaleFactorRoot.
inline constexpr std::int64_t kScaleFactorWhole = 65536;

// The factor on scores, from axis `scale`.
[[nodiscard]] float score_scale(const Case& test_case, std::size_t head_dim);
// From axis `scale_factor_d512`.
[[nodiscard]] float scale_factor_d512(const Case& test_case);

}  // namespace assay::families
