// Recognises attention kernels of other projects by the names of their functions and arguments.
#pragma once

#include <optional>

#include "families/sketch.h"

namespace assay::families::attention {

// Nothing if no function has arguments for queries, keys, values and an output.
[[nodiscard]] std::optional<Sketch> sketch(const SketchSubject& subject);

}  // namespace assay::families::attention
