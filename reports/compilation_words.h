// Words that the table and the JSON of a compilation share. Internal to reports/.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reports/compilation.h"

namespace assay::reports {

// An argument as a host sees it; of a listing, as it is declared.
struct ArgumentWords {
  std::string place;  // "buffer 2", "threadgroup 0"
  std::string name;
  std::string type;      // "const device float*"
  std::size_t size = 0;  // bytes of the pointee; 0 in a listing
  const metal::StructLayout* layout = nullptr;
};

[[nodiscard]] std::vector<ArgumentWords> arguments_of(const harness::InspectedFunction& function, bool is_listing);

// Equal for functions whose arguments have the same places, names and structs, and that need the same constants.
[[nodiscard]] std::string shape_of(const harness::InspectedFunction& function, bool is_listing);

// "tile (int, index 3)".
[[nodiscard]] std::string constant_words(const CompiledLibrary& library, std::uint32_t index);

// What a function's refusal is about, without the function: equal for those that fail alike.
[[nodiscard]] std::string cause_of(const harness::InspectedFunction& function);

// Each line behind so many blanks.
[[nodiscard]] std::string indented(std::string_view text, std::size_t blanks);

}  // namespace assay::reports
