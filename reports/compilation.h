// What a kernel file compiles to: as a table for people and as JSON (docs/compile.schema.json).
#pragma once

#include <string>
#include <vector>

#include "harness/run/family_fit.h"
#include "harness/run/inspection.h"

namespace assay::reports {

inline constexpr int kCompilationVersion = 1;

// One library of the file: without a variant.toml that says otherwise, the only one.
struct CompiledLibrary {
  std::vector<std::string> configuration;  // macros that tell it from others of the same source
  std::vector<metal::FunctionConstantDeclaration> constants;
  std::vector<harness::InspectedFunction> functions;  // in source order
  std::vector<metal::RefusedFunction> refused;
  std::vector<metal::SourceNote> notes;
  std::string failure;  // why there is none at all; empty where there is one
  harness::FamilyFits families;
};

struct Compilation {
  std::string file;
  bool is_listing = false;  // nothing was compiled: names, places and declarations only
  double seconds = 0;
  std::vector<CompiledLibrary> libraries;

  // Of the libraries' functions, refused ones included.
  [[nodiscard]] std::size_t functions() const;
  [[nodiscard]] std::size_t failures() const;
  // There is a function, and none that does not compile.
  [[nodiscard]] bool is_sound() const;
};

// At most 100 columns, but for messages of the compiler. Functions with the same arguments stand together, as do those that fail alike.
[[nodiscard]] std::string compilation_text(const Compilation& compilation);

[[nodiscard]] std::string compilation_json(const Compilation& compilation);

}  // namespace assay::reports
