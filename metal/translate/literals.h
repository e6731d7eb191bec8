// Number literals as Metal reads them, spelled for C++ for OpenCL.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace assay::metal::translate {

// What to write for the number `text`, or nothing if it means the same in both languages.
//
// A floating literal without a suffix is a float in Metal and gets an `f`: the compiler's own switch for that is forgotten
// where a template is instantiated. `bf` makes a bfloat of the value rounded once, to nearest even, which is written as a
// hexadecimal literal.
[[nodiscard]] std::optional<std::string> literal_for_opencl(std::string_view text);

// Where the suffix of a user-defined literal begins, or its length: no other part of a number holds an underscore.
[[nodiscard]] std::size_t suffix_of(std::string_view number);
// Whether a number without such a suffix is a floating-point one.
[[nodiscard]] bool is_floating(std::string_view number);

}  // namespace assay::metal::translate
