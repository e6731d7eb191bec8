// Family `attention`: the words of its axes, and the settings of its variants. Functions and arguments are those of each variant's launch.
#pragma once

#include <array>
#include <string_view>

#include "kernels/contract.h"

namespace assay::families {

// Words that [limits] and expressions use, by axis value. "same": as the axis before says.
inline constexpr std::array<std::string_view, 3> kStorageWords = {"float", "half", "bfloat"};
inline constexpr std::array<std::string_view, 7> kKeyTypeWords = {"same", "float", "half", "bfloat", "q8_0", "q4_0", "q4_1"};
inline constexpr std::array<std::string_view, 4> kOutTypeWords = {"same", "float", "half", "bfloat"};
inline constexpr std::array<std::string_view, 8> kMaskWords = {"none",    "causal",   "window", "causal_window",
                                                               "boolean", "additive", "alibi",  "causal_alibi"};
inline constexpr std::array<std::string_view, 4> kPlaneWords = {"shared", "head", "batch", "both"};
inline constexpr std::array<std::string_view, 3> kOffsetWords = {"end", "zero", "other"};
inline constexpr std::array<std::string_view, 4> kCacheWords = {"contiguous", "capacity", "ring", "paged"};
inline constexpr std::array<std::string_view, 3> kLayoutWords = {"bhld", "blhd", "packed"};
inline constexpr std::array<std::string_view, 2> kNoYesWords = {"no", "yes"};
inline constexpr std::array<std::string_view, 2> kScaleWords = {"root", "one"};
// "yes": float; "typed": of the type of the query.
inline constexpr std::array<std::string_view, 3> kSinkWords = {"no", "yes", "typed"};
// "empty": one batch has no key.
inline constexpr std::array<std::string_view, 3> kRaggedWords = {"no", "yes", "empty"};
// Which tensors have gaps behind their rows and heads: keys and values; these and the queries; or the output too.
inline constexpr std::array<std::string_view, 4> kGapWords = {"no", "kv", "inputs", "all"};

// A feature that [limits] does not mention is not tested: the axis keeps its first value.
inline constexpr std::array kAttentionAxisWords = {
    kernels::AxisWords{.axis = "type", .words = kStorageWords},
    kernels::AxisWords{.axis = "k_type", .words = kKeyTypeWords, .is_feature = true},
    kernels::AxisWords{.axis = "v_type", .words = kKeyTypeWords, .is_feature = true},
    kernels::AxisWords{.axis = "out_type", .words = kOutTypeWords, .is_feature = true},
    kernels::AxisWords{.axis = "mask", .words = kMaskWords, .is_feature = true},
    kernels::AxisWords{.axis = "mask_type", .words = kOutTypeWords, .is_feature = true},
    kernels::AxisWords{.axis = "mask_planes", .words = kPlaneWords, .is_feature = true},
    kernels::AxisWords{.axis = "mask_gaps", .words = kNoYesWords, .is_feature = true},
    kernels::AxisWords{.axis = "offset", .words = kOffsetWords, .is_feature = true},
    kernels::AxisWords{.axis = "softcap", .words = {}, .is_feature = true},
    kernels::AxisWords{.axis = "sinks", .words = kSinkWords, .is_feature = true},
    kernels::AxisWords{.axis = "scale", .words = kScaleWords, .is_feature = true},
    kernels::AxisWords{.axis = "cache", .words = kCacheWords, .is_feature = true},
    kernels::AxisWords{.axis = "layout", .words = kLayoutWords, .is_feature = true},
    kernels::AxisWords{.axis = "shared_kv", .words = kNoYesWords, .is_feature = true},
    kernels::AxisWords{.axis = "ragged", .words = kRaggedWords, .is_feature = true},
    kernels::AxisWords{.axis = "gaps", .words = kGapWords, .is_feature = true},
    kernels::AxisWords{.axis = "far", .words = kNoYesWords},
    kernels::AxisWords{.axis = "page_size", .words = {}, .is_feature = true, .first = 16},
    kernels::AxisWords{.axis = "blocks", .words = {}, .is_feature = true, .first = 1},
    kernels::AxisWords{.axis = "nsg", .words = {}, .is_feature = true, .first = 1},
    kernels::AxisWords{.axis = "dk", .words = {}, .is_required = true},
    kernels::AxisWords{.axis = "dv", .words = {}, .partner = "dk"},
};

inline constexpr std::array<std::string_view, 3> kEmptyRowWords = {"zero", "nan", "any"};
inline constexpr std::array<std::string_view, 3> kLseWords = {"none", "natural", "two"};

// Keys of [accuracy]: what a kernel may round to a narrower format than float.
inline constexpr std::array<std::string_view, 7> kAttentionFormats = {"keys",   "values",  "scaled_query", "dot_product",
                                                                      "scores", "weights", "statistics"};

// The keys of the table [attention]; without words, an integer.
inline constexpr std::array kAttentionSettings = {
    kernels::SettingContract{.name = "empty_row", .words = kEmptyRowWords},
    kernels::SettingContract{.name = "lse", .words = kLseWords},
    kernels::SettingContract{.name = "reads_padding", .words = {}, .largest = 1024},
    kernels::SettingContract{.name = "max_bias", .words = {}, .initial = 8, .largest = 64},
};

inline constexpr kernels::FamilyContract kAttentionContract{.name = "attention",
                                                            .entries = {},
                                                            .arguments = {},
                                                            .fields = {},
                                                            .has_threadgroup_memory = true,
                                                            .constants = {},
                                                            .is_described = true,
                                                            .axis_words = kAttentionAxisWords,
                                                            .settings = kAttentionSettings,
                                                            .accuracy_formats = kAttentionFormats};

}  // namespace assay::families
