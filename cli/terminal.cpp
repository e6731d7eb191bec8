// Asks the system and the environment what a terminal can show.
#include "cli/terminal.h"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace assay::cli {
namespace {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

}  // namespace

bool is_terminal(std::FILE* stream) {
  const std::string_view kind = variable("TERM");
  return !kind.empty() && kind != "dumb" && isatty(fileno(stream)) == 1;
}

bool is_coloured(std::FILE* stream) { return variable("NO_COLOR").empty() && is_terminal(stream); }

bool has_utf8() {
  // In the order in which the C library looks at them.
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view locale = variable(name);
    if (!locale.empty()) return locale.ends_with("UTF-8") || locale.ends_with("utf8");
  }
  return false;
}

}  // namespace assay::cli
