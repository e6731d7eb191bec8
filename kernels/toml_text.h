// Parses untrusted TOML text into a table. Internal to kernels/.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>

#include "kernels/variant.h"
#define TOML_EXCEPTIONS 1
#include <toml++/toml.h>

namespace assay::kernels {

inline constexpr std::size_t kLargestToml = std::size_t{256} << 10;  // bytes
inline constexpr std::size_t kMostDots = 64;                         // dots per line outside of quotes; limits the parts of a dotted key

// Throws VariantError with file and line for invalid TOML, and for a text beyond the limits above. toml++ limits the depth of nested values
// but not of dotted keys, and destroys tables recursively.
[[nodiscard]] toml::table parse_toml(std::string_view text, const std::filesystem::path& file);

}  // namespace assay::kernels
