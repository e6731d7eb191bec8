// How a kernel is compiled and executed: natively, with every access checked, or with exact values beside the rounded ones.
#pragma once

#include <string_view>

namespace assay::metal {

// metal/README.md describes them. `checked` checks every access to memory that lanes share. `shadow` carries beside every floating-point
// value what it would be without any rounding, to the precision of a double. Control flow and bits are the same under all.
enum class Policy { native, checked, shadow };
[[nodiscard]] std::string_view to_string(Policy policy);
// "native", "checked" or "shadow"; throws std::invalid_argument for anything else.
[[nodiscard]] Policy parse_policy(std::string_view text);

}  // namespace assay::metal
