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

void control(std::FILE* stream, Control what) {
  const auto sequence = [what] {
    switch (what) {
      case Control::clear_line:
        return "\r\033[K";
      case Control::enter_screen:
        return "\033[?1049h\033[?25l\033[?7l";
      case Control::leave_screen:
        return "\033[?7h\033[?25h\033[?1049l";
      case Control::go_home:
        return "\033[H";
      case Control::end_line:
        return "\033[K";
      case Control::clear_below:
        return "\033[J";
      case Control::next_line:
        return "\r\n";
    }
    return "";
  };
  std::fputs(sequence(), stream);
}

}  // namespace assay::cli
