// Reads compile settings from a variant.toml. Internal to kernels/.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/compile_settings.h"
#include "kernels/toml_reader.h"

namespace assay::kernels {

// Reads [compile]; folders are relative to the folder of the file.
[[nodiscard]] CompileSettings read_compile_settings(const TomlReader& reader, const toml::table& table);

// Reads a list of definitions; `what` names it in messages.
[[nodiscard]] std::vector<std::string> read_definitions(const TomlReader& reader, const toml::node& node, std::string_view what);

}  // namespace assay::kernels
