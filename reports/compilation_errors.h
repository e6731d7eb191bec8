// The errors of a compilation, each once, for the reports that list them.
#pragma once

#include <string>
#include <vector>

#include "reports/compilation.h"
#include "reports/diagnostics.h"

namespace assay::reports {

struct CompilationError {
  Diagnostic error;
  std::vector<Diagnostic> notes;       // of the compiler on this error
  std::vector<std::string> functions;  // that do not compile for it; empty: nothing of the file does
};

// In the order in which they are met: of whole libraries, of functions, of what is no kernel.
[[nodiscard]] std::vector<CompilationError> errors_of(const Compilation& compilation);

}  // namespace assay::reports
