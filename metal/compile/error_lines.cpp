// Splits explained errors into lines and reads their places.
#include "metal/compile/error_lines.h"

#include "base/text.h"

namespace assay::metal::compile {

std::vector<ErrorLine> error_lines(std::string_view errors) {
  constexpr std::string_view kMark = ": error: ";
  std::vector<ErrorLine> found;
  for (const std::string_view whole : base::lines_of(errors)) {
    const std::size_t mark = whole.find(kMark);
    // Quoted lines of the source begin with a blank.
    if (mark == std::string_view::npos || whole.starts_with(' ')) continue;
    const std::size_t colon = whole.rfind(':', mark - 1);
    if (mark == 0 || colon == std::string_view::npos) continue;
    const auto line = base::number_of<std::uint32_t>(whole.substr(colon + 1, mark - colon - 1));
    if (line) found.push_back({whole, whole.substr(0, colon), whole.substr(mark + kMark.size()), *line});
  }
  return found;
}

bool are_about_sources(std::string_view messages) {
  bool any = false;
  for (const std::string_view line : base::lines_of(messages)) {
    if (line.starts_with(' ')) continue;  // a quoted line of the source
    if (line.starts_with("error: ") || line.starts_with("fatal error: ") || line.starts_with("clang") || line.starts_with("LLVM ERROR"))
      return false;
    any = any || line.find("error: ") != std::string_view::npos;
  }
  return any;
}

bool is_beyond_repair(std::string_view text) {
  return text.starts_with("use of undeclared identifier") || text.starts_with("unknown type name") || text.starts_with("expected ");
}

}  // namespace assay::metal::compile
