// Reads [axes], [tensors], [bound] and [reference] of a variant.toml. Internal to kernels/.
#pragma once

#include "kernels/custom.h"
#include "kernels/toml_reader.h"

namespace assay::kernels {

// The keys at the top level that only such a description has.
inline constexpr std::string_view kCustomKeys[] = {"axes", "valid", "fixtures", "tensors", "bound", "reference"};

// `folder` is the variant's. Throws VariantError.
[[nodiscard]] CustomDescription read_custom(const TomlReader& reader, const toml::table& root);

}  // namespace assay::kernels
