// The kernels of a compiled file: as a table for people, as JSON (docs/compile.schema.json), JUnit and Markdown.
#pragma once

#include <string>
#include <vector>

#include "harness/prepare/family_fit.h"
#include "harness/prepare/inspection.h"
#include "reports/source_root.h"

namespace assay::reports {

inline constexpr int kCompilationVersion = 1;

// One library of the file; there are several only if variant.toml defines macros per entry.
struct CompiledLibrary {
  std::vector<std::string> configuration;  // macros that distinguish it from other libraries of the same source
  std::vector<metal::FunctionConstantDeclaration> constants;
  std::vector<harness::InspectedFunction> functions;  // in source order
  std::vector<metal::RefusedFunction> refused;
  std::vector<metal::SourceNote> notes;
  std::string failure;  // why the library could not be built; empty if it was
  harness::FamilyFits families;
};

struct Compilation {
  std::string file;
  bool is_listing = false;  // true if nothing was compiled: only names, places and declarations
  double seconds = 0;
  std::vector<CompiledLibrary> libraries;

  // The number of functions, including those that do not compile.
  [[nodiscard]] std::size_t functions() const;
  [[nodiscard]] std::size_t failures() const;
  // Whether there is at least one function and all of them compile.
  [[nodiscard]] bool is_sound() const;
};

// At most 100 columns wide, except for compiler messages. Functions with the same arguments are grouped, and so are those with the same
// error.
[[nodiscard]] std::string compilation_text(const Compilation& compilation);

[[nodiscard]] std::string compilation_json(const Compilation& compilation);

// JUnit: a testcase per function, with its file and line, and one for what compiles no function at all.
[[nodiscard]] std::string compilation_junit(const Compilation& compilation, const SourceRoot& root);

// For the summary of a job or a comment: the errors, at most ten. Text of the source contains no markup.
[[nodiscard]] std::string compilation_markdown(const Compilation& compilation, const SourceRoot& root);

}  // namespace assay::reports
