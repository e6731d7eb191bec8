// Family `bf16_prefill`, and its helpers `bf16_pad` and `bf16_blk`: functions, arguments and struct fields.
#pragma once

#include <array>

#include "families/shared/dense_contract.h"
#include "kernels/contract.h"

namespace assay::families {

inline constexpr std::array kBf16PrefillEntries = {
    kernels::EntryContract{"d512", "kernel_flash_attn_ext_bf16_dk512_dv512"},
};

inline constexpr std::array kBf16PrefillArguments = {
    kernels::ArgumentContract{"args", 0, kernels::ArgumentRole::parameters, metal::ScalarType::other},
    kernels::ArgumentContract{"q", 1, kernels::ArgumentRole::input, metal::ScalarType::bfloat16},
    kernels::ArgumentContract{"k", 2, kernels::ArgumentRole::input, metal::ScalarType::bfloat16},
    kernels::ArgumentContract{"v", 3, kernels::ArgumentRole::input, metal::ScalarType::bfloat16},
    kernels::ArgumentContract{"mask", 4, kernels::ArgumentRole::input, metal::ScalarType::float16},
    kernels::ArgumentContract{"sinks", 5, kernels::ArgumentRole::input, metal::ScalarType::float32, true},
    kernels::ArgumentContract{"pad", 6, kernels::ArgumentRole::input, metal::ScalarType::uint8},
    kernels::ArgumentContract{"blk", 7, kernels::ArgumentRole::input, metal::ScalarType::uint8},
    kernels::ArgumentContract{"dst", 8, kernels::ArgumentRole::output, metal::ScalarType::bfloat16},
};

inline constexpr std::array kBf16PadEntries = {
    kernels::EntryContract{"pad", "kernel_flash_attn_ext_pad"},
};

inline constexpr std::array kBf16PadArguments = {
    kernels::ArgumentContract{"args", 0, kernels::ArgumentRole::parameters, metal::ScalarType::other},
    kernels::ArgumentContract{"k", 1, kernels::ArgumentRole::input, metal::ScalarType::bfloat16},
    kernels::ArgumentContract{"v", 2, kernels::ArgumentRole::input, metal::ScalarType::bfloat16},
    kernels::ArgumentContract{"mask", 3, kernels::ArgumentRole::input, metal::ScalarType::float16},
    kernels::ArgumentContract{"dst", 4, kernels::ArgumentRole::output, metal::ScalarType::uint8},
};

inline constexpr std::array kBf16PadFields = {
    kernels::FieldContract{"ne11", metal::ScalarType::int32},    kernels::FieldContract{"ne_12_2", metal::ScalarType::int32},
    kernels::FieldContract{"ne_12_3", metal::ScalarType::int32}, kernels::FieldContract{"nb11", metal::ScalarType::uint64},
    kernels::FieldContract{"nb12", metal::ScalarType::uint64},   kernels::FieldContract{"nb13", metal::ScalarType::uint64},
    kernels::FieldContract{"nb21", metal::ScalarType::uint64},   kernels::FieldContract{"nb22", metal::ScalarType::uint64},
    kernels::FieldContract{"nb23", metal::ScalarType::uint64},   kernels::FieldContract{"ne31", metal::ScalarType::int32},
    kernels::FieldContract{"ne32", metal::ScalarType::int32},    kernels::FieldContract{"ne33", metal::ScalarType::int32},
    kernels::FieldContract{"nb31", metal::ScalarType::uint64},   kernels::FieldContract{"nb32", metal::ScalarType::uint64},
    kernels::FieldContract{"nb33", metal::ScalarType::uint64},
};

inline constexpr std::array kBf16BlkEntries = {
    kernels::EntryContract{"blk", "kernel_flash_attn_ext_blk"},
};

inline constexpr std::array kBf16BlkArguments = {
    kernels::ArgumentContract{"args", 0, kernels::ArgumentRole::parameters, metal::ScalarType::other},
    kernels::ArgumentContract{"mask", 1, kernels::ArgumentRole::input, metal::ScalarType::float16},
    kernels::ArgumentContract{"dst", 2, kernels::ArgumentRole::output, metal::ScalarType::uint8},
};

inline constexpr std::array kBf16BlkFields = {
    kernels::FieldContract{"ne01", metal::ScalarType::int32},  kernels::FieldContract{"ne30", metal::ScalarType::int32},
    kernels::FieldContract{"ne31", metal::ScalarType::int32},  kernels::FieldContract{"ne32", metal::ScalarType::int32},
    kernels::FieldContract{"ne33", metal::ScalarType::int32},  kernels::FieldContract{"nb31", metal::ScalarType::uint64},
    kernels::FieldContract{"nb32", metal::ScalarType::uint64}, kernels::FieldContract{"nb33", metal::ScalarType::uint64},
};

// Indices of function constants.
inline constexpr std::uint32_t kPadHasMask = 100;
inline constexpr std::uint32_t kHasMask = 300;
inline constexpr std::uint32_t kHasRaggedTile = 304;

inline constexpr std::array kBf16PrefillConstants = {
    kernels::ConstantContract{kPadHasMask, "whether there is a mask"},
    kernels::ConstantContract{kHasMask, "whether there is a mask"},
    kernels::ConstantContract{kHasRaggedTile, "whether the last tile of keys is ragged"},
};

inline constexpr kernels::FamilyContract kBf16PrefillContract{"bf16_prefill", kBf16PrefillEntries,  kBf16PrefillArguments, kBf16Fields,
                                                              true,           kBf16PrefillConstants};

inline constexpr kernels::FamilyContract kBf16PadContract{"bf16_pad",     kBf16PadEntries, kBf16PadArguments,
                                                          kBf16PadFields, false,           std::span(kBf16PrefillConstants).first(1)};

inline constexpr kernels::FamilyContract kBf16BlkContract{"bf16_blk", kBf16BlkEntries, kBf16BlkArguments, kBf16BlkFields, false};

}  // namespace assay::families
