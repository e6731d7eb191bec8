// Converts arbitrary bytes (from kernels, files and users) to text that documents can contain.
#pragma once

#include <string>
#include <string_view>

namespace assay::reports {

// Returns valid UTF-8. Control characters except newline and tab, U+FFFE, U+FFFF and invalid bytes become U+FFFD.
[[nodiscard]] std::string clean_text(std::string_view text);

}  // namespace assay::reports
