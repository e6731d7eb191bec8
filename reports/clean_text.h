// Text of kernels, files and people, which may hold any byte, as documents can hold it.
#pragma once

#include <string>
#include <string_view>

namespace assay::reports {

// UTF-8; control characters but for newline and tab, U+FFFE, U+FFFF, and bytes that are no UTF-8, become U+FFFD.
[[nodiscard]] std::string clean_text(std::string_view text);

}  // namespace assay::reports
