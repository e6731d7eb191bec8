// Usual names in kernels, and what is wrong where a repair changes them.
#pragma once

#include <span>
#include <string_view>
#include <utility>

namespace assay::families {

// A part of a name, in lower case, and a class of mistakes.h.
using MistakeWord = std::pair<std::string_view, std::string_view>;

// Parts of names that a repair changes; the more telling ones first.
[[nodiscard]] std::span<const MistakeWord> mistake_words();

// Parts of names of buffers, for repairs that change where a buffer is read or written; the first that fits counts. '^' is the beginning of
// a name.
[[nodiscard]] std::span<const MistakeWord> buffer_words();

}  // namespace assay::families
