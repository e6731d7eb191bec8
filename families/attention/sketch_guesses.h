// What the buffers of an attention kernel may be if their names do not say it.
#pragma once

#include <map>
#include <string>

#include "metal/argument_layout.h"

namespace assay::families::attention {

// Argument -> tensor, for the buffers whose names only resemble those of tensors, or that are numbered operands. Empty if no attention
// comes of it.
[[nodiscard]] std::map<std::string, std::string> guesses_of(const metal::ArgumentLayout& function);

}  // namespace assay::families::attention
