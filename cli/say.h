// The only way to standard output and standard error.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string_view>
#include <utility>

namespace assay::cli {

// Writes printable(text). Names, notes and messages of foreign files therefore never reach a terminal or a CI log as they are. A failed
// write is seen in std::ferror(stream).
void put(std::FILE* stream, std::string_view text);

// Writes printable_annotations(text).
void put_annotations(std::FILE* stream, std::string_view text);

template <typename... Values>
void say(std::FILE* stream, fmt::format_string<Values...> format, Values&&... values) {
  put(stream, fmt::format(format, std::forward<Values>(values)...));
}
template <typename... Values>
void say(fmt::format_string<Values...> format, Values&&... values) {
  say(stdout, format, std::forward<Values>(values)...);
}

// How a word stands out on a terminal. What it says must not depend on it.
enum class Paint {
  failure,  // bold, and light on a red ground: a shape that no other text has, so that nobody has to tell red from green
  success,  // green
};

// As put(), painted if the stream shows colours (cli/terminal.h).
void put_painted(std::FILE* stream, Paint paint, std::string_view text);

// What a terminal is told besides text. With the colours of put_painted(), the only control sequences that the command writes.
enum class Control {
  clear_line,    // goes to the start of the line and clears it
  enter_screen,  // a screen of its own, without a cursor; longer lines are cut off
  leave_screen,  // what was there before
  go_home,       // to the upper left corner
  end_line,      // clears the rest of the line
  clear_below,   // clears the lines below, and the rest of this one
  next_line,
};
void control(std::FILE* stream, Control what);

}  // namespace assay::cli
