// Escapes control characters in foreign text (file names, arguments, kernel names) before it is printed to a terminal.
#pragma once

#include <string>
#include <string_view>

namespace assay::cli {

// Returns `text` with control characters except line feed and tab, and bytes that are not UTF-8, escaped as \x1b. Unicode controls (U+0080
// to U+009F) and characters that change the writing direction are escaped as \u009b.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace assay::cli
