// Makes foreign text (file names, arguments, kernel names, notes, messages of clang) harmless for terminals, CI logs and documents.
#pragma once

#include <string>
#include <string_view>

namespace assay::cli {

// Returns `text`, in which these are escaped:
// - bytes that are not UTF-8, and control characters except line feed and tab, as \x1b
// - DEL, U+0080 to U+009F, characters that change the writing direction and separators of lines and paragraphs, as \u009b
// - the first character of "::" at the start of a line, and the bracket of "##[" and "##word[", which CI runners take for commands.
// Inside of a JSON text all of these have the same meaning as before, because JSON has no other control characters.
[[nodiscard]] std::string printable(std::string_view text);

// The same for lines of annotations (reports/github.h): "::error ", "::warning " and "::notice " at the start of a line stay commands, and
// nothing else does.
[[nodiscard]] std::string printable_annotations(std::string_view text);

}  // namespace assay::cli
