// Writes text to a stream, made printable.
#include "cli/say.h"

#include <string>

#include "cli/printable.h"
#include "cli/terminal.h"

namespace assay::cli {

namespace {

void put_safe(std::FILE* stream, const std::string& safe) { std::fwrite(safe.data(), 1, safe.size(), stream); }

}  // namespace

void put(std::FILE* stream, std::string_view text) { put_safe(stream, printable(text)); }

void put_annotations(std::FILE* stream, std::string_view text) { put_safe(stream, printable_annotations(text)); }

void put_painted(std::FILE* stream, Paint paint, std::string_view text) {
  const bool is_painted = is_coloured(stream);
  if (is_painted) std::fputs(paint == Paint::failure ? "\033[1;97;41m" : "\033[32m", stream);
  put(stream, text);
  if (is_painted) std::fputs("\033[0m", stream);
}

void clear_line(std::FILE* stream) { std::fputs("\r\033[K", stream); }

}  // namespace assay::cli
