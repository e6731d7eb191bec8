// Messages of clang, with the names and places of the user's source.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace assay::metal::compile {

// The folder of the headers that a kernel sees.
[[nodiscard]] std::filesystem::path shader_directory();

// Clang's messages in the user's terms. Address spaces have Metal's names. If the error lies in one of our headers, the user's line
// comes first. A missing header is shown with its chain of includes. Unsupported parts of Metal are named. The source line is quoted.
[[nodiscard]] std::string explain_errors(std::string_view messages);

void replace_all(std::string& text, std::string_view from, std::string_view to);

}  // namespace assay::metal::compile
