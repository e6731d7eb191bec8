// The files launch.toml of the families, embedded into the program by the build.
#pragma once

#include <string_view>

namespace assay::families {

// Returns the text of an embedded file by its path in the project. Throws std::out_of_range for an unknown path.
[[nodiscard]] std::string_view embedded_file(std::string_view path);

}  // namespace assay::families
