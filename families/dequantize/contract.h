// Family `dequantize`: functions, arguments and struct fields.
#pragma once

#include <array>

#include "families/shared/scale_factor.h"
#include "kernels/contract.h"

namespace assay::families {

inline constexpr std::array kDequantizeEntries = {
    kernels::EntryContract{"4bit", "tq_dequantize_kv"},
    kernels::EntryContract{"hb", "tq_dequantize_hb_kv"},
};

inline constexpr std::array kDequantizeArguments = {
    kernels::ArgumentContract{"packed", 0, kernels::ArgumentRole::input, metal::ScalarType::uint8},
    kernels::ArgumentContract{"norms", 1, kernels::ArgumentRole::input, metal::ScalarType::float32},
    kernels::ArgumentContract{"dst", 2, kernels::ArgumentRole::output, metal::ScalarType::float32},
    kernels::ArgumentContract{"params", 3, kernels::ArgumentRole::parameters, metal::ScalarType::other},
};

inline constexpr std::array kDequantizeFields = {
    kernels::FieldContract{"head_dim", metal::ScalarType::uint32},
    kernels::FieldContract{"num_kv_heads", metal::ScalarType::uint32},
    kernels::FieldContract{"read_pos", metal::ScalarType::uint32},
    kernels::FieldContract{"cache_capacity", metal::ScalarType::uint32},
    kernels::FieldContract{"norms_per_pos", metal::ScalarType::uint32},
    kernels::FieldContract{"scale_factor_d512", metal::ScalarType::float32, false, {"head_dim", 256, 256}},
    kernels::FieldContract{"codebook_bits", metal::ScalarType::uint32, true},
};

inline constexpr kernels::FamilyContract kDequantizeContract{
    "dequantize", kDequantizeEntries, kDequantizeArguments, kDequantizeFields, false, {}, false, false, false, {}, {},
    {},           kScaleFactorNames};

}  // namespace assay::families
