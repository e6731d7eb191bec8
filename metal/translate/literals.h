// Spells number literals of Metal for C++ for OpenCL.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace assay::metal::translate {

// The text that replaces the number `text`, or nothing if it means the same in both languages.
//
// A floating literal without a suffix is a float in Metal and gets an `f`. The compiler's own switch for this has no effect
// where a template is instantiated. A literal with `bf` is rounded once, to the nearest bfloat (ties to even), and written as
// a hexadecimal literal.
[[nodiscard]] std::optional<std::string> literal_for_opencl(std::string_view text);

// The position of the suffix of a user-defined literal, or the length of `number` if there is none. Only such a suffix
// contains an underscore.
[[nodiscard]] std::size_t suffix_of(std::string_view number);
// Whether a number without such a suffix is a floating-point literal.
[[nodiscard]] bool is_floating(std::string_view number);

}  // namespace assay::metal::translate
