// Family `tq4`: functions, arguments and struct fields.
#pragma once

#include <array>

#include "families/shared/decode_contract.h"
#include "kernels/contract.h"

namespace assay::families {

inline constexpr std::array kTq4Entries = {
    kernels::EntryContract{"d256", "flash_attn_vec_tq_dk256"},
    kernels::EntryContract{"d512", "flash_attn_vec_tq_dk512"},
};

// No kernel applies a softcap, and the grid contains nwg too.
inline constexpr std::array kTq4Fields = {
    kernels::FieldContract{"n_heads", metal::ScalarType::uint32},
    kernels::FieldContract{"n_kv_heads", metal::ScalarType::uint32},
    kernels::FieldContract{"head_dim", metal::ScalarType::uint32},
    kernels::FieldContract{"kv_seq_len", metal::ScalarType::uint32},
    kernels::FieldContract{"kv_capacity", metal::ScalarType::uint32},
    kernels::FieldContract{"scale", metal::ScalarType::float32},
    kernels::FieldContract{"mask_type", metal::ScalarType::uint32},
    kernels::FieldContract{"sliding_window", metal::ScalarType::uint32},
    kernels::FieldContract{"softcap", metal::ScalarType::float32, true},
    kernels::FieldContract{"nwg", metal::ScalarType::uint32, true},
    kernels::FieldContract{"ring_start", metal::ScalarType::uint32},
    kernels::FieldContract{"scale_factor_d512", metal::ScalarType::float32, true},
};

inline constexpr kernels::FamilyContract kTq4Contract{"tq4", kTq4Entries, kDecodeArguments, kTq4Fields, true};

}  // namespace assay::families
