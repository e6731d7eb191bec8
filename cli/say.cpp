// Writes text to a stream, made printable.
#include "cli/say.h"

#include "cli/printable.h"

namespace assay::cli {

void put(std::FILE* stream, std::string_view text) {
  const std::string safe = printable(text);
  std::fwrite(safe.data(), 1, safe.size(), stream);
}

void clear_line(std::FILE* stream) { std::fputs("\r\033[K", stream); }

}  // namespace assay::cli
