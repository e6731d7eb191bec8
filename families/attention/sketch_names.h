// The names that attention kernels use for tensors, numbers, types and functions, and what they mean.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "metal/argument_layout.h"

namespace assay::families::attention {

[[nodiscard]] std::string lower(std::string_view text);
// "half"; empty for a type that no case has.
[[nodiscard]] std::string_view type_word(metal::ScalarType type);
// The tensor that a buffer of this name is; nothing for other names.
[[nodiscard]] std::optional<std::string> buffer_of(std::string_view name);
// The tensor that a buffer of this name may be: "Qp", "kcache" and "v_in" have a letter or word of a tensor, and nothing else but words
// that any buffer may have. A guess.
[[nodiscard]] std::optional<std::string> guess_of(std::string_view name);
// The expression for a number of this name, as argument or field: "n_kv_heads" -> "g", "k_head_stride" -> "stride(k, 'head')".
[[nodiscard]] std::optional<std::string> number_of(std::string_view name);

// The parts of a function's name that say type and head size.
struct NameParts {
  std::string stem;  // with {type} and {dk} in their places
  std::string type_word, type;
  std::vector<std::int64_t> sizes;
};

[[nodiscard]] NameParts parts_of(const std::string& name);

}  // namespace assay::families::attention
