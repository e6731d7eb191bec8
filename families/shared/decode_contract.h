// The arguments and struct fields of decode attention over a TurboQuant cache, for any width of its indices.
#pragma once

#include <array>
#include <string_view>

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

// No kernel applies a softcap, and the grid contains nwg too.
inline constexpr std::array kDecodeFields = {
    kernels::FieldContract{"n_heads", metal::ScalarType::uint32},
    kernels::FieldContract{"n_kv_heads", metal::ScalarType::uint32},
    kernels::FieldContract{"head_dim", metal::ScalarType::uint32},
    kernels::FieldContract{"kv_seq_len", metal::ScalarType::uint32},
    kernels::FieldContract{"kv_capacity", metal::ScalarType::uint32},
    kernels::FieldContract{"scale", metal::ScalarType::float32},
    kernels::FieldContract{"mask_type", metal::ScalarType::uint32, false, {"mask_type", 0, 1}},
    kernels::FieldContract{"sliding_window", metal::ScalarType::uint32, false, {"mask_type", 0, 1}},
    kernels::FieldContract{"softcap", metal::ScalarType::float32, true},
    kernels::FieldContract{"nwg", metal::ScalarType::uint32, true},
    kernels::FieldContract{"ring_start", metal::ScalarType::uint32, false, {"ring_start", 0, 0}},
    kernels::FieldContract{"scale_factor_d512", metal::ScalarType::float32, true},
};

// Keys of [accuracy]: dequantised keys and values may be rounded before their products.
inline constexpr std::array<std::string_view, 2> kDecodeFormats = {"keys", "values"};

}  // namespace assay::families
