// The settings of a host's compiler in a variant.toml. Internal to kernels/.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/compile_settings.h"
#include "kernels/toml_reader.h"

namespace assay::kernels {

// [compile]; folders are relative to that of the file.
[[nodiscard]] CompileSettings read_compile_settings(const TomlReader& reader, const toml::table& table);

// A list of definitions; `what` names it in messages.
[[nodiscard]] std::vector<std::string> read_definitions(const TomlReader& reader, const toml::node& node, std::string_view what);

}  // namespace assay::kernels
