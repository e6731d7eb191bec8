// Reads the lines of a source that include other files.
#pragma once

#include <optional>
#include <string_view>

namespace assay::metal {

// What follows `#include` or `#import` in a line: the name, and whether it is in quotes.
struct IncludeLine {
  std::string_view name;
  bool is_quoted = false;
};

// The directive of a line, without the hash and the blanks around; empty if there is none. Directives that continue on the next line are
// none of those that matter here.
[[nodiscard]] std::string_view directive_of(std::string_view line);

// Nothing if the line includes no file, or names it by a macro.
[[nodiscard]] std::optional<IncludeLine> include_of(std::string_view line);

}  // namespace assay::metal
