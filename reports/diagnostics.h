// The messages of a compilation, one by one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/findings/verdict.h"

namespace assay::reports {

struct Diagnostic {
  metal::SourceLocation place;  // line 0: the message names none
  bool is_note = false;         // about the error before it
  std::string text;             // one line
  std::string excerpt;          // the lines that follow, which quote the source; may be empty
};

// Of text in the form that metal::CompileError promises: "file:line: error: text", "file:line: note: text". Text before the first such line
// is a message without a place.
[[nodiscard]] std::vector<Diagnostic> diagnostics_of(std::string_view text);

}  // namespace assay::reports
