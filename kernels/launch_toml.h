// Reads the launch from a variant.toml. Internal to kernels/.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/launch.h"
#include "kernels/toml_reader.h"

namespace assay::kernels {

// Letters, digits and '_', not a digit first.
[[nodiscard]] bool is_identifier(std::string_view name);

// The keys and values of a table from top to bottom, which TOML does not keep.
[[nodiscard]] std::vector<std::pair<std::string, const toml::node*>> in_file_order(const toml::table& table);

// A number, a boolean, or a text with an expression. `what` names it in messages. Throws VariantError.
[[nodiscard]] Expression read_expression(const TomlReader& reader, const toml::node& node, const std::string& what);

// Reads [let], [[scratch]] and [[dispatch]]. Throws VariantError, also if there is no [[dispatch]].
[[nodiscard]] LaunchDescription read_launch(const TomlReader& reader, const toml::table& root);

}  // namespace assay::kernels
