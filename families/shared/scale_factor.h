// The values of axis `scale_factor_d512` that have a name.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/contract.h"

namespace assay::families {

// sqrt(512), as the bits of a float (scales.h).
inline constexpr std::int64_t kScaleFactorRoot = 0x41b504f3;

inline constexpr std::array kScaleFactorNames = {kernels::NamedValue{"scale_factor_d512", "root512", kScaleFactorRoot}};

}  // namespace assay::families
