// The words of axes in reports. A ledger may name families and axes that this program does not have: these have numbers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace assay::reports {

// What an author writes in [limits], by value; empty for an axis of numbers.
[[nodiscard]] std::span<const std::string_view> axis_words(std::string_view family, std::string_view axis);

// The word of a value, or the number.
[[nodiscard]] std::string axis_text(std::string_view family, std::string_view axis, std::int64_t value);

}  // namespace assay::reports
