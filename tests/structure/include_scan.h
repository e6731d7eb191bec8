// Reads the include directives of a C++ source as a compiler would: not those inside comments or (raw) strings, where
// our tests keep whole Metal kernels.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay::tests {

struct Include {
  enum class Form { quoted, angled, computed } form = Form::quoted;
  std::string target;  // between the delimiters; for `computed`, the rest of the line
  unsigned line = 0;   // from 1
};

// In the order of the text. Sections that the preprocessor would skip count as well: a rule holds on every platform.
[[nodiscard]] std::vector<Include> includes_of(std::string_view text);

}  // namespace assay::tests
