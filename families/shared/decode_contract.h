// The arguments of decode attention over a TurboQuant cache, for any width of its indices.
#pragma once

#include <array>

#include "kernels/contract.h"

namespace assay::families {

inline constexpr std::array kDecodeArguments = {
    kernels::ArgumentContract{"params", 0, kernels::ArgumentRole::parameters, metal::ScalarType::other},
    kernels::ArgumentContract{"Q", 1, kernels::ArgumentRole::input, metal::ScalarType::float32},
    kernels::ArgumentContract{"K_packed", 2, kernels::ArgumentRole::input, metal::ScalarType::uint8},
    kernels::ArgumentContract{"K_norms", 3, kernels::ArgumentRole::input, metal::ScalarType::float32},
    kernels::ArgumentContract{"V_packed", 4, kernels::ArgumentRole::input, metal::ScalarType::uint8},
    kernels::ArgumentContract{"V_norms", 5, kernels::ArgumentRole::input, metal::ScalarType::float32},
    kernels::ArgumentContract{"dst", 6, kernels::ArgumentRole::output, metal::ScalarType::float32},
};

}  // namespace assay::families
