// Reading TOML that others wrote, into a table. Internal to kernels/.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>

#include "kernels/variant.h"
#define TOML_EXCEPTIONS 1
#include <toml++/toml.h>

namespace assay::kernels {

inline constexpr std::size_t kLargestToml = std::size_t{256} << 10;  // bytes
inline constexpr std::size_t kMostDots = 64;                         // outside of quotes, on a line: a key has as many parts

// Throws VariantError with file and line for what is no TOML, and for a text beyond the limits above: toml++ bounds how deep values nest,
// but not how deep a dotted key does, and takes a table apart by recursion.
[[nodiscard]] toml::table parse_toml(std::string_view text, const std::filesystem::path& file);

}  // namespace assay::kernels
