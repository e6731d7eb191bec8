// Values of axes as [limits] says them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/contract.h"

namespace assay::kernels {

// A word of the family, or the number itself where the axis has no words.
[[nodiscard]] std::string axis_text(const FamilyContract& contract, std::string_view axis, std::int64_t value);

// The value of a name (NamedValue) or of a number; nothing if the text is neither.
[[nodiscard]] std::optional<std::int64_t> axis_value(const FamilyContract& contract, std::string_view axis, std::string_view text);

}  // namespace assay::kernels
