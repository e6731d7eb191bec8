// Reads the launch from a variant.toml. Internal to kernels/.
#pragma once

#include <string>

#include "kernels/launch.h"
#include "kernels/toml_reader.h"

namespace assay::kernels {

// A number, a boolean, or a text with an expression. `what` names it in messages. Throws VariantError.
[[nodiscard]] Expression read_expression(const TomlReader& reader, const toml::node& node, const std::string& what);

// Reads [let], [[scratch]] and [[dispatch]]. Throws VariantError, also if there is no [[dispatch]].
[[nodiscard]] LaunchDescription read_launch(const TomlReader& reader, const toml::table& root);

}  // namespace assay::kernels
