// Usual names in kernels, and what is wrong where a repair changes them.
#pragma once

#include <span>
#include <string_view>
#include <utility>

namespace assay::families {

// Parts of names in lower case, each with a class of mistakes.h; the more telling ones first.
[[nodiscard]] std::span<const std::pair<std::string_view, std::string_view>> mistake_words();

}  // namespace assay::families
