// Text of kernels, files and people as Markdown can hold it: nothing of it is markup, and nothing ends the block it stands in.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace assay::reports {

// At most `length` bytes of clean text in one line, never a part of a character.
[[nodiscard]] std::string short_line(std::string_view text, std::size_t length);

// One line of at most some hundred bytes, for prose, headings and cells of tables.
[[nodiscard]] std::string prose(std::string_view text);

// As it is, with lines of its own; `language` colours it.
[[nodiscard]] std::string code_block(std::string_view text, std::string_view language = "");

}  // namespace assay::reports
