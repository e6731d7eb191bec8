// Family `quantize`: functions, arguments and struct fields.
#pragma once

#include <array>

#include "families/shared/scale_factor.h"
#include "kernels/contract.h"

namespace assay::families {

inline constexpr std::array kQuantizeEntries = {
    kernels::EntryContract{"fast_d256", "hadamard_quantize_kv_fast_d256"},
    kernels::EntryContract{"fast_d512", "hadamard_quantize_kv_fast_d512"},
    kernels::EntryContract{"hb_d256", "hadamard_quantize_kv_hb_d256"},
    kernels::EntryContract{"hb_d512", "hadamard_quantize_kv_hb_d512"},
};

inline constexpr std::array kQuantizeArguments = {
    kernels::ArgumentContract{"src", 0, kernels::ArgumentRole::input, metal::ScalarType::float32},
    kernels::ArgumentContract{"packed", 1, kernels::ArgumentRole::output, metal::ScalarType::uint8},
    kernels::ArgumentContract{"norms", 2, kernels::ArgumentRole::output, metal::ScalarType::float32},
    kernels::ArgumentContract{"params", 3, kernels::ArgumentRole::parameters, metal::ScalarType::other},
    kernels::ArgumentContract{"rms_scratch", 4, kernels::ArgumentRole::output, metal::ScalarType::float32, true},
};

inline constexpr std::array kQuantizeFields = {
    kernels::FieldContract{"head_dim", metal::ScalarType::uint32},
    kernels::FieldContract{"num_kv_heads", metal::ScalarType::uint32},
    kernels::FieldContract{"write_pos", metal::ScalarType::uint32},
    kernels::FieldContract{"cache_capacity", metal::ScalarType::uint32},
    kernels::FieldContract{"is_sliding", metal::ScalarType::uint32, false, {"is_sliding", 0, 0}},
    kernels::FieldContract{"scale_factor_d512", metal::ScalarType::float32, false, {"head_dim", 256, 256}},
    kernels::FieldContract{"rms_probe_enabled", metal::ScalarType::uint32, true},
    kernels::FieldContract{"codebook_bits", metal::ScalarType::uint32, true},
};

inline constexpr kernels::FamilyContract kQuantizeContract{
    "quantize", kQuantizeEntries, kQuantizeArguments, kQuantizeFields, false, {}, false, false, false, {}, {}, {}, kScaleFactorNames};

}  // namespace assay::families
