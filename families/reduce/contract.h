// Family `reduce`: functions, arguments and struct fields.
#pragma once

#include <array>

#include "kernels/contract.h"

namespace assay::families {

inline constexpr std::array kReduceEntries = {
    kernels::EntryContract{"d256", "flash_attn_vec_reduce_dk256"},
    kernels::EntryContract{"d512", "flash_attn_vec_reduce_dk512"},
};

inline constexpr std::array kReduceArguments = {
    kernels::ArgumentContract{"params", 0, kernels::ArgumentRole::parameters, metal::ScalarType::other},
    kernels::ArgumentContract{"htmp", 1, kernels::ArgumentRole::input, metal::ScalarType::float32},
    kernels::ArgumentContract{"dst", 2, kernels::ArgumentRole::output, metal::ScalarType::float32},
    kernels::ArgumentContract{"nwg_param", 3, kernels::ArgumentRole::scalar, metal::ScalarType::uint32},
};

inline constexpr std::array kReduceFields = {
    kernels::FieldContract{"nrows", metal::ScalarType::uint32},
};

inline constexpr kernels::FamilyContract kReduceContract{"reduce", kReduceEntries, kReduceArguments, kReduceFields, false};

}  // namespace assay::families
