// Drafts a variant.toml of family `custom` for any kernel file.
#pragma once

#include <optional>

#include "families/sketch.h"

namespace assay::families {

// For the first function of the file; nothing if it has none that compiles. What no name can say stands as questions, among them a
// reference to begin with.
[[nodiscard]] std::optional<Sketch> sketch_custom(const SketchSubject& subject);

}  // namespace assay::families
