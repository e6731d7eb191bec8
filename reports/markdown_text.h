// Escapes text of kernels, files and users for Markdown, so that it contains no markup and cannot end its block.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace assay::reports {

// At most `length` bytes of clean text in one line; never cuts a character.
[[nodiscard]] std::string short_line(std::string_view text, std::size_t length);

// One line of at most some hundred bytes, for prose, headings and table cells.
[[nodiscard]] std::string prose(std::string_view text);

// A code block; `language` selects its highlighting.
[[nodiscard]] std::string code_block(std::string_view text, std::string_view language = "");

}  // namespace assay::reports
