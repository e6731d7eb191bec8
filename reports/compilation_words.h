// Descriptions that the table and the JSON of a compilation share. Internal to reports/.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reports/compilation.h"

namespace assay::reports {

// An argument as a host sees it, or in a listing as it is declared.
struct ArgumentWords {
  std::string place;  // "buffer 2", "threadgroup 0"
  std::string name;
  std::string type;      // "const device float*"
  std::size_t size = 0;  // bytes of the pointee; 0 in a listing
  const metal::StructLayout* layout = nullptr;
};

[[nodiscard]] std::vector<ArgumentWords> arguments_of(const harness::InspectedFunction& function, bool is_listing);

// A key that is equal for functions with the same argument places, names, structs and required constants.
[[nodiscard]] std::string shape_of(const harness::InspectedFunction& function, bool is_listing);

// "tile (int, index 3)".
[[nodiscard]] std::string constant_words(const CompiledLibrary& library, std::uint32_t index);

// The cause of a compile error without the function name; equal for functions with the same error.
[[nodiscard]] std::string cause_of(const harness::InspectedFunction& function);

// Indents each line.
[[nodiscard]] std::string indented(std::string_view text, std::size_t blanks);

}  // namespace assay::reports
