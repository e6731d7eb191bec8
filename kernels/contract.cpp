#include "kernels/contract.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <variant>
#include <vector>

namespace assay::kernels {
namespace {

using enum ArgumentRole;
using metal::ScalarType;

constexpr std::array kTq4Entries = {
    EntryContract{"d256", "flash_attn_vec_tq_dk256"},
    EntryContract{"d512", "flash_attn_vec_tq_dk512"},
};
constexpr std::array kTq4Arguments = {
    ArgumentContract{"params", 0, parameters, ScalarType::other}, ArgumentContract{"Q", 1, input, ScalarType::float32},
    ArgumentContract{"K_packed", 2, input, ScalarType::uint8},    ArgumentContract{"K_norms", 3, input, ScalarType::float32},
    ArgumentContract{"V_packed", 4, input, ScalarType::uint8},    ArgumentContract{"V_norms", 5, input, ScalarType::float32},
    ArgumentContract{"dst", 6, output, ScalarType::float32},
};
// No kernel applies a softcap, and the grid says nwg as well.
constexpr std::array kTq4Fields = {
    FieldContract{"n_heads", ScalarType::uint32},        FieldContract{"n_kv_heads", ScalarType::uint32},
    FieldContract{"head_dim", ScalarType::uint32},       FieldContract{"kv_seq_len", ScalarType::uint32},
    FieldContract{"kv_capacity", ScalarType::uint32},    FieldContract{"scale", ScalarType::float32},
    FieldContract{"mask_type", ScalarType::uint32},      FieldContract{"sliding_window", ScalarType::uint32},
    FieldContract{"softcap", ScalarType::float32, true}, FieldContract{"nwg", ScalarType::uint32, true},
    FieldContract{"ring_start", ScalarType::uint32},     FieldContract{"scale_factor_d512", ScalarType::float32, true},
};

// Arguments as in tq4. At head_dim 256 nothing is divided by scale_factor_d512.
constexpr std::array kTqhbEntries = {
    EntryContract{"d256", "flash_attn_vec_tq_hb_dk256"},
    EntryContract{"d512", "flash_attn_vec_tq_hb_dk512"},
};
constexpr std::array kTqhbFields = {
    FieldContract{"n_heads", ScalarType::uint32},
    FieldContract{"n_kv_heads", ScalarType::uint32},
    FieldContract{"head_dim", ScalarType::uint32},
    FieldContract{"kv_seq_len", ScalarType::uint32},
    FieldContract{"kv_capacity", ScalarType::uint32},
    FieldContract{"scale", ScalarType::float32},
    FieldContract{"mask_type", ScalarType::uint32},
    FieldContract{"sliding_window", ScalarType::uint32},
    FieldContract{"softcap", ScalarType::float32, true},
    FieldContract{"nwg", ScalarType::uint32, true},
    FieldContract{"ring_start", ScalarType::uint32},
    FieldContract{"scale_factor_d512", ScalarType::float32, true},
    FieldContract{"codebook_bits", ScalarType::uint32, true},
    FieldContract{"fuse_fwht_pre", ScalarType::uint32, true},
    FieldContract{"nsg", ScalarType::uint32, true},
};

constexpr std::array kReduceEntries = {
    EntryContract{"d256", "flash_attn_vec_reduce_dk256"},
    EntryContract{"d512", "flash_attn_vec_reduce_dk512"},
};
constexpr std::array kReduceArguments = {
    ArgumentContract{"params", 0, parameters, ScalarType::other},
    ArgumentContract{"htmp", 1, input, ScalarType::float32},
    ArgumentContract{"dst", 2, output, ScalarType::float32},
    ArgumentContract{"nwg_param", 3, scalar, ScalarType::uint32},
};
constexpr std::array kReduceFields = {
    FieldContract{"nrows", ScalarType::uint32},
};

constexpr std::array kFwhtEntries = {
    EntryContract{"standalone_d256", "fwht_standalone_f32_d256"}, EntryContract{"standalone_d512", "fwht_standalone_f32_d512"},
    EntryContract{"premult_d256", "fwht_sign_premult_f32_d256"},  EntryContract{"premult_d512", "fwht_sign_premult_f32_d512"},
    EntryContract{"undo_d256", "fwht_sign_undo_f32_d256"},        EntryContract{"undo_d512", "fwht_sign_undo_f32_d512"},
};
constexpr std::array kFwhtArguments = {
    ArgumentContract{"data", 0, output, ScalarType::float32},
    ArgumentContract{"params", 1, parameters, ScalarType::other},
};
constexpr std::array kFwhtFields = {
    FieldContract{"head_dim", ScalarType::uint32},
    FieldContract{"num_heads", ScalarType::uint32},
};

constexpr std::array kQuantizeEntries = {
    EntryContract{"fast_d256", "hadamard_quantize_kv_fast_d256"},
    EntryContract{"fast_d512", "hadamard_quantize_kv_fast_d512"},
    EntryContract{"hb_d256", "hadamard_quantize_kv_hb_d256"},
    EntryContract{"hb_d512", "hadamard_quantize_kv_hb_d512"},
};
constexpr std::array kQuantizeArguments = {
    ArgumentContract{"src", 0, input, ScalarType::float32},
    ArgumentContract{"packed", 1, output, ScalarType::uint8},
    ArgumentContract{"norms", 2, output, ScalarType::float32},
    ArgumentContract{"params", 3, parameters, ScalarType::other},
    ArgumentContract{"rms_scratch", 4, output, ScalarType::float32, true},
};
constexpr std::array kQuantizeFields = {
    FieldContract{"head_dim", ScalarType::uint32},
    FieldContract{"num_kv_heads", ScalarType::uint32},
    FieldContract{"write_pos", ScalarType::uint32},
    FieldContract{"cache_capacity", ScalarType::uint32},
    FieldContract{"is_sliding", ScalarType::uint32},
    FieldContract{"scale_factor_d512", ScalarType::float32},
    FieldContract{"rms_probe_enabled", ScalarType::uint32, true},
    FieldContract{"codebook_bits", ScalarType::uint32, true},
};

constexpr std::array kDequantizeEntries = {
    EntryContract{"4bit", "tq_dequantize_kv"},
    EntryContract{"hb", "tq_dequantize_hb_kv"},
};
constexpr std::array kDequantizeArguments = {
    ArgumentContract{"packed", 0, input, ScalarType::uint8},
    ArgumentContract{"norms", 1, input, ScalarType::float32},
    ArgumentContract{"dst", 2, output, ScalarType::float32},
    ArgumentContract{"params", 3, parameters, ScalarType::other},
};
constexpr std::array kDequantizeFields = {
    FieldContract{"head_dim", ScalarType::uint32},
    FieldContract{"num_kv_heads", ScalarType::uint32},
    FieldContract{"read_pos", ScalarType::uint32},
    FieldContract{"cache_capacity", ScalarType::uint32},
    FieldContract{"norms_per_pos", ScalarType::uint32},
    FieldContract{"scale_factor_d512", ScalarType::float32},
    FieldContract{"codebook_bits", ScalarType::uint32, true},
};

constexpr std::array kBf16PrefillEntries = {
    EntryContract{"d512", "kernel_flash_attn_ext_bf16_dk512_dv512"},
};
constexpr std::array kBf16PrefillArguments = {
    ArgumentContract{"args", 0, parameters, ScalarType::other}, ArgumentContract{"q", 1, input, ScalarType::bfloat16},
    ArgumentContract{"k", 2, input, ScalarType::bfloat16},      ArgumentContract{"v", 3, input, ScalarType::bfloat16},
    ArgumentContract{"mask", 4, input, ScalarType::float16},    ArgumentContract{"sinks", 5, input, ScalarType::float32, true},
    ArgumentContract{"pad", 6, input, ScalarType::uint8},       ArgumentContract{"blk", 7, input, ScalarType::uint8},
    ArgumentContract{"dst", 8, output, ScalarType::bfloat16},
};
// The values that switch off what no kernel applies may be missing, as may the output's sizes, which are the query's.
constexpr std::array kBf16Fields = {
    FieldContract{"ne01", ScalarType::int32},
    FieldContract{"ne02", ScalarType::int32},
    FieldContract{"ne03", ScalarType::int32},
    FieldContract{"nb01", ScalarType::uint64},
    FieldContract{"nb02", ScalarType::uint64},
    FieldContract{"nb03", ScalarType::uint64},
    FieldContract{"ne11", ScalarType::int32},
    FieldContract{"ne_12_2", ScalarType::int32},
    FieldContract{"ne_12_3", ScalarType::int32},
    FieldContract{"ns10", ScalarType::int32},
    FieldContract{"nb11", ScalarType::uint64},
    FieldContract{"nb12", ScalarType::uint64},
    FieldContract{"nb13", ScalarType::uint64},
    FieldContract{"ns20", ScalarType::int32},
    FieldContract{"nb21", ScalarType::uint64},
    FieldContract{"nb22", ScalarType::uint64},
    FieldContract{"nb23", ScalarType::uint64},
    FieldContract{"ne31", ScalarType::int32},
    FieldContract{"ne32", ScalarType::int32},
    FieldContract{"ne33", ScalarType::int32},
    FieldContract{"nb31", ScalarType::uint64},
    FieldContract{"nb32", ScalarType::uint64},
    FieldContract{"nb33", ScalarType::uint64},
    FieldContract{"ne1", ScalarType::int32, true},
    FieldContract{"ne2", ScalarType::int32, true},
    FieldContract{"ne3", ScalarType::int32, true},
    FieldContract{"scale", ScalarType::float32},
    FieldContract{"max_bias", ScalarType::float32, true},
    FieldContract{"m0", ScalarType::float32, true},
    FieldContract{"m1", ScalarType::float32, true},
    FieldContract{"n_head_log2", ScalarType::int32, true},
    FieldContract{"logit_softcap", ScalarType::float32, true},
};

constexpr std::array kBf16VecEntries = {
    EntryContract{"d512", "kernel_flash_attn_ext_vec_bf16_dk512_dv512"},
};
constexpr std::array kBf16VecArguments = {
    ArgumentContract{"args", 0, parameters, ScalarType::other}, ArgumentContract{"q", 1, input, ScalarType::float32},
    ArgumentContract{"k", 2, input, ScalarType::bfloat16},      ArgumentContract{"v", 3, input, ScalarType::bfloat16},
    ArgumentContract{"mask", 4, input, ScalarType::float16},    ArgumentContract{"dst", 8, output, ScalarType::bfloat16},
};

constexpr std::array kBf16PadEntries = {
    EntryContract{"pad", "kernel_flash_attn_ext_pad"},
};
constexpr std::array kBf16PadArguments = {
    ArgumentContract{"args", 0, parameters, ScalarType::other}, ArgumentContract{"k", 1, input, ScalarType::bfloat16},
    ArgumentContract{"v", 2, input, ScalarType::bfloat16},      ArgumentContract{"mask", 3, input, ScalarType::float16},
    ArgumentContract{"dst", 4, output, ScalarType::uint8},
};
constexpr std::array kBf16PadFields = {
    FieldContract{"ne11", ScalarType::int32},  FieldContract{"ne_12_2", ScalarType::int32}, FieldContract{"ne_12_3", ScalarType::int32},
    FieldContract{"nb11", ScalarType::uint64}, FieldContract{"nb12", ScalarType::uint64},   FieldContract{"nb13", ScalarType::uint64},
    FieldContract{"nb21", ScalarType::uint64}, FieldContract{"nb22", ScalarType::uint64},   FieldContract{"nb23", ScalarType::uint64},
    FieldContract{"ne31", ScalarType::int32},  FieldContract{"ne32", ScalarType::int32},    FieldContract{"ne33", ScalarType::int32},
    FieldContract{"nb31", ScalarType::uint64}, FieldContract{"nb32", ScalarType::uint64},   FieldContract{"nb33", ScalarType::uint64},
};

constexpr std::array kBf16BlkEntries = {
    EntryContract{"blk", "kernel_flash_attn_ext_blk"},
};
constexpr std::array kBf16BlkArguments = {
    ArgumentContract{"args", 0, parameters, ScalarType::other},
    ArgumentContract{"mask", 1, input, ScalarType::float16},
    ArgumentContract{"dst", 2, output, ScalarType::uint8},
};
constexpr std::array kBf16BlkFields = {
    FieldContract{"ne01", ScalarType::int32},  FieldContract{"ne30", ScalarType::int32},  FieldContract{"ne31", ScalarType::int32},
    FieldContract{"ne32", ScalarType::int32},  FieldContract{"ne33", ScalarType::int32},  FieldContract{"nb31", ScalarType::uint64},
    FieldContract{"nb32", ScalarType::uint64}, FieldContract{"nb33", ScalarType::uint64},
};

constexpr std::array kFamilies = {
    FamilyContract{"tq4", kTq4Entries, kTq4Arguments, kTq4Fields, true},
    FamilyContract{"tqhb", kTqhbEntries, kTq4Arguments, kTqhbFields, true},
    FamilyContract{"reduce", kReduceEntries, kReduceArguments, kReduceFields, false},
    FamilyContract{"fwht", kFwhtEntries, kFwhtArguments, kFwhtFields, false},
    FamilyContract{"quantize", kQuantizeEntries, kQuantizeArguments, kQuantizeFields, false},
    FamilyContract{"dequantize", kDequantizeEntries, kDequantizeArguments, kDequantizeFields, false},
    FamilyContract{"bf16_prefill", kBf16PrefillEntries, kBf16PrefillArguments, kBf16Fields, true},
    FamilyContract{"bf16_vec", kBf16VecEntries, kBf16VecArguments, kBf16Fields, true},
    FamilyContract{"bf16_pad", kBf16PadEntries, kBf16PadArguments, kBf16PadFields, false},
    FamilyContract{"bf16_blk", kBf16BlkEntries, kBf16BlkArguments, kBf16BlkFields, false},
};

}  // namespace

std::string to_string(const FunctionKey& key) {
  if (key.constants.empty()) return key.entry;
  std::vector<std::string> values;
  for (const auto& [index, value] : key.constants) values.push_back(fmt::format("{} = {}", index, metal::to_string(value)));
  return fmt::format("{} with function constant{} {}", key.entry, values.size() == 1 ? "" : "s", fmt::join(values, ", "));
}

const ArgumentContract* FamilyContract::find_argument(std::string_view argument) const {
  const auto found = std::ranges::find(arguments, argument, &ArgumentContract::name);
  return found == arguments.end() ? nullptr : &*found;
}

const FieldContract* FamilyContract::find_field(std::string_view field) const {
  const auto found = std::ranges::find(fields, field, &FieldContract::name);
  return found == fields.end() ? nullptr : &*found;
}

const EntryContract* FamilyContract::find_entry(std::string_view key) const {
  const auto found = std::ranges::find(entries, key, &EntryContract::key);
  return found == entries.end() ? nullptr : &*found;
}

std::span<const FamilyContract> family_contracts() { return kFamilies; }

const FamilyContract* find_family_contract(std::string_view name) {
  const auto found = std::ranges::find(kFamilies, name, &FamilyContract::name);
  return found == kFamilies.end() ? nullptr : &*found;
}

const FamilyContract& family_contract(std::string_view name) {
  if (const FamilyContract* found = find_family_contract(name)) return *found;
  std::vector<std::string_view> names;
  for (const FamilyContract& family : kFamilies) names.push_back(family.name);
  throw std::invalid_argument(fmt::format("unknown family '{}'; the families are {}", name, fmt::join(names, ", ")));
}

}  // namespace assay::kernels
