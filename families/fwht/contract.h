// Family `fwht`: functions, arguments and struct fields.
#pragma once

#include <array>

#include "kernels/contract.h"

namespace assay::families {

inline constexpr std::array kFwhtEntries = {
    kernels::EntryContract{"standalone_d256", "fwht_standalone_f32_d256"},
    kernels::EntryContract{"standalone_d512", "fwht_standalone_f32_d512"},
    kernels::EntryContract{"premult_d256", "fwht_sign_premult_f32_d256"},
    kernels::EntryContract{"premult_d512", "fwht_sign_premult_f32_d512"},
    kernels::EntryContract{"undo_d256", "fwht_sign_undo_f32_d256"},
    kernels::EntryContract{"undo_d512", "fwht_sign_undo_f32_d512"},
};

inline constexpr std::array kFwhtArguments = {
    kernels::ArgumentContract{"data", 0, kernels::ArgumentRole::output, metal::ScalarType::float32},
    kernels::ArgumentContract{"params", 1, kernels::ArgumentRole::parameters, metal::ScalarType::other},
};

inline constexpr std::array kFwhtFields = {
    kernels::FieldContract{"head_dim", metal::ScalarType::uint32},
    kernels::FieldContract{"num_heads", metal::ScalarType::uint32},
};

inline constexpr kernels::FamilyContract kFwhtContract{"fwht", kFwhtEntries, kFwhtArguments, kFwhtFields, false};

}  // namespace assay::families
