// Drafts of a variant.toml for a kernel file that has none.
#pragma once

#include <string>
#include <vector>

#include "families/sketch.h"
#include "harness/prepare/inspection.h"
#include "metal/compile/library.h"

namespace assay::harness {

struct Draft {
  std::string family;
  families::Sketch sketch;
};

// One for each family that recognises the file, the most alike first. `source` is the file's name in the draft.
[[nodiscard]] std::vector<Draft> drafts_of(const metal::Library& library, const std::string& source, unsigned jobs);

}  // namespace assay::harness
