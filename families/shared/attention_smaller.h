// Triage of all kinds of attention: smaller cases, and the places of keys.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "families/family.h"

namespace assay::families {

// For TriageRules of a family with the axes n_heads and kv_len.
[[nodiscard]] std::vector<Case> smaller_attention(const Case& test_case, Smaller how);
[[nodiscard]] std::vector<std::vector<ShrinkStep>> attention_steps();

inline constexpr std::uint64_t kKeysOfChunk = 32;
// "slot 37 of KV head 0, chunk 1 of 32 keys".
[[nodiscard]] Place key_place(std::uint64_t head, std::uint64_t slot, std::string_view what);

}  // namespace assay::families
