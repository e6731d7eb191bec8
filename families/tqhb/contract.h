// Family `tqhb`: functions, arguments and struct fields.
#pragma once

#include <array>

#include "families/shared/codebook.h"
#include "families/shared/decode_contract.h"
#include "families/shared/scale_factor.h"
#include "kernels/contract.h"

namespace assay::families {

// Arguments as in tq4. At head_dim 256 nothing is divided by scale_factor_d512.
inline constexpr std::array kTqhbEntries = {
    kernels::EntryContract{"d256", "flash_attn_vec_tq_hb_dk256"},
    kernels::EntryContract{"d512", "flash_attn_vec_tq_hb_dk512"},
};

inline constexpr std::array kTqhbFields =
    kernels::joined(kDecodeFields, std::array{
                                       kernels::FieldContract{"codebook_bits", metal::ScalarType::uint32, true},
                                       kernels::FieldContract{"fuse_fwht_pre", metal::ScalarType::uint32, true},
                                       kernels::FieldContract{"nsg", metal::ScalarType::uint32, true},
                                   });

inline constexpr std::array kTqhbConstants = {
    kernels::ConstantContract{kCodebookConstant, "codebook_bits"},
};

inline constexpr kernels::FamilyContract kTqhbContract{
    "tqhb", kTqhbEntries, kDecodeArguments, kTqhbFields,      true, kTqhbConstants, true, false, false,
    {},     {},           kDecodeFormats,   kScaleFactorNames};

}  // namespace assay::families
