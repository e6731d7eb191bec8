// How a kernel is compiled and executed: natively, with every access checked, or with exact values beside the rounded ones.
#pragma once

#include <string_view>

namespace assay::metal {

// metal/README.md describes the policies. `checked` checks every access to memory that lanes share. `shadow` keeps, for every
// floating-point value, its value without any rounding, to the precision of a double. Control flow and bits are the same
// under all policies.
enum class Policy { native, checked, shadow };
[[nodiscard]] std::string_view to_string(Policy policy);
// "native", "checked" or "shadow"; throws std::invalid_argument for anything else.
[[nodiscard]] Policy parse_policy(std::string_view text);

}  // namespace assay::metal
