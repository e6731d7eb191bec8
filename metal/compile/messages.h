// Messages of clang, with the names and places of the user's source.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace assay::metal::compile {

// Where the headers lie that a kernel sees.
[[nodiscard]] std::filesystem::path shader_directory();

// Clang's messages in the user's terms: Metal's words for address spaces, the user's line first where the error lies in one of our headers,
// the chain of includes to a header that is not there, what this implementation leaves out called by its name, and the source line quoted.
[[nodiscard]] std::string explain_errors(std::string_view messages);

void replace_all(std::string& text, std::string_view from, std::string_view to);

}  // namespace assay::metal::compile
