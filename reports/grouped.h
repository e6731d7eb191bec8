// Formats numbers with thousands separators, alone or with a noun.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace assay::reports {

// 1234567 -> "1,234,567".
[[nodiscard]] inline std::string grouped(std::uint64_t value) {
  std::string digits = fmt::format("{}", value);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

// 1 and "case" -> "1 case"; 1234 -> "1,234 cases".
[[nodiscard]] inline std::string plural(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", grouped(count), noun, count == 1 ? "" : "s");
}

}  // namespace assay::reports
