// Finds the errors in the text that explains them, with their places in the user's source.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace assay::metal::compile {

struct ErrorLine {
  std::string_view whole;  // "<file>:<line>: error: <text>"
  std::string_view file, text;
  std::uint32_t line = 0;
};

// The views refer to `errors`, which is what explain_errors() (messages.h) returned. Notes and quoted lines are left out.
[[nodiscard]] std::vector<ErrorLine> error_lines(std::string_view errors);

// Whether all of clang's errors are about places in sources, so that it would give them again. Others are about its machine: a file that is
// gone, a disk that is full. `messages` are clang's own.
[[nodiscard]] bool are_about_sources(std::string_view messages);

// Whether neither another rendering nor a repair can be what such an error lacks: a name that nothing declares, or text that is no program.
[[nodiscard]] bool is_beyond_repair(std::string_view text);

}  // namespace assay::metal::compile
