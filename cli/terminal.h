// What the terminal behind a stream can show.
#pragma once

#include <cstdio>

namespace assay::cli {

// Whether the stream is a terminal in which a line can be drawn again: not a file, a pipe or a dumb terminal ($TERM empty or `dumb`).
[[nodiscard]] bool is_terminal(std::FILE* stream);

// Whether it also shows colours, and the user has not switched them off with $NO_COLOR (https://no-color.org).
[[nodiscard]] bool is_coloured(std::FILE* stream);

// Whether the user's locale encodes text as UTF-8, so that terminals show block characters.
[[nodiscard]] bool has_utf8();

}  // namespace assay::cli
