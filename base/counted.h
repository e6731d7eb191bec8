// Counts things in sentences.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace assay::base {

// 1 and "element" -> "1 element"; 3 -> "3 elements".
[[nodiscard]] inline std::string counted(std::size_t count, std::string_view noun) {
  return std::to_string(count) + ' ' + std::string(noun) + (count == 1 ? "" : "s");
}

}  // namespace assay::base
