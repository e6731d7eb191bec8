// Finds the name of an included file in a line.
#include "metal/include_line.h"

#include <cstddef>

#include "base/text.h"

namespace assay::metal {

std::string_view directive_of(std::string_view line) {
  line = base::trimmed(line);
  return line.starts_with('#') ? base::trimmed(line.substr(1)) : std::string_view();
}

std::optional<IncludeLine> include_of(std::string_view line) {
  std::string_view rest = directive_of(line);
  for (const std::string_view word : {"include", "import"}) {
    if (!rest.starts_with(word)) continue;
    rest = base::trimmed(rest.substr(word.size()));
    if (rest.empty() || (rest.front() != '"' && rest.front() != '<')) return std::nullopt;
    const bool is_quoted = rest.front() == '"';
    const std::size_t end = rest.find(is_quoted ? '"' : '>', 1);
    if (end == std::string_view::npos) return std::nullopt;
    return IncludeLine{rest.substr(1, end - 1), is_quoted};
  }
  return std::nullopt;
}

}  // namespace assay::metal
