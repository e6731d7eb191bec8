// Family `tq4`: functions, arguments and struct fields.
#pragma once

#include <array>

#include "families/shared/decode_contract.h"
#include "families/shared/scale_factor.h"
#include "kernels/contract.h"

namespace assay::families {

inline constexpr std::array kTq4Entries = {
    kernels::EntryContract{"d256", "flash_attn_vec_tq_dk256"},
    kernels::EntryContract{"d512", "flash_attn_vec_tq_dk512"},
};

inline constexpr kernels::FamilyContract kTq4Contract{"tq4", kTq4Entries, kDecodeArguments, kDecodeFields,    true, {}, true, false, false,
                                                      {},    {},          kDecodeFormats,   kScaleFactorNames};

}  // namespace assay::families
