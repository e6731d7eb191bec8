// Formats numbers with thousands separators.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace assay::reports {

// 1234567 -> "1,234,567".
[[nodiscard]] inline std::string grouped(std::uint64_t value) {
  std::string digits = fmt::format("{}", value);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

}  // namespace assay::reports
