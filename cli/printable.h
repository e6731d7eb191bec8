// What others wrote - names of files, arguments, names in kernels - in a message on somebody's terminal, which control characters would
// steer.
#pragma once

#include <string>
#include <string_view>

namespace assay::cli {

// `text` with every control character but line feeds and tabs written out, as \x1b, and what is no UTF-8 as well. The controls that
// Unicode has beyond ASCII (U+0080 to U+009F) and the characters that turn the direction of writing are written out as \u009b.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace assay::cli
