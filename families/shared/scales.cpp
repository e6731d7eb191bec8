// Converts axes of factors to floats.
#include "families/shared/scales.h"

#include <bit>
#include <cmath>
#include <cstdint>

namespace assay::families {

float score_scale(const Case& test_case, std::size_t head_dim) {
  const std::int64_t scale = test_case.at("scale");
  if (scale == kScaleOne) return 1.0F;
  if (scale == kScaleInverseRoot) return static_cast<float>(1.0 / std::sqrt(static_cast<double>(head_dim)));
  return std::bit_cast<float>(static_cast<std::uint32_t>(scale));
}

float scale_factor_d512(const Case& test_case) {
  const std::int64_t factor = test_case.at("scale_factor_d512");
  if (factor <= kScaleFactorWhole) return static_cast<float>(factor);
  return std::bit_cast<float>(static_cast<std::uint32_t>(factor));
}

}  // namespace assay::families
