// Family `bf16_vec`: functions, arguments and struct fields.
#pragma once

#include <array>

#include "families/shared/dense_contract.h"
#include "kernels/contract.h"

namespace assay::families {

inline constexpr std::array kBf16VecEntries = {
    kernels::EntryContract{"d512", "kernel_flash_attn_ext_vec_bf16_dk512_dv512"},
};

inline constexpr std::array kBf16VecArguments = {
    kernels::ArgumentContract{"args", 0, kernels::ArgumentRole::parameters, metal::ScalarType::other},
    kernels::ArgumentContract{"q", 1, kernels::ArgumentRole::input, metal::ScalarType::float32},
    kernels::ArgumentContract{"k", 2, kernels::ArgumentRole::input, metal::ScalarType::bfloat16},
    kernels::ArgumentContract{"v", 3, kernels::ArgumentRole::input, metal::ScalarType::bfloat16},
    kernels::ArgumentContract{"mask", 4, kernels::ArgumentRole::input, metal::ScalarType::float16},
    kernels::ArgumentContract{"dst", 8, kernels::ArgumentRole::output, metal::ScalarType::bfloat16},
};

inline constexpr kernels::FamilyContract kBf16VecContract{"bf16_vec", kBf16VecEntries, kBf16VecArguments, kBf16Fields, true};

}  // namespace assay::families
