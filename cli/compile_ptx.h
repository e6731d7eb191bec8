// `assay compile --target ptx`: the functions of a file for NVIDIA GPUs.
#pragma once

#include <string>
#include <vector>

#include "harness/prepare/inspection.h"
#include "metal/compile/ptx.h"

namespace assay::cli {

struct PtxListing {
  std::string folder;  // where the files go; empty: nowhere
  std::string math = "precise";
  metal::compile::PtxOptions compilation;

  [[nodiscard]] bool is_default() const { return folder.empty() && math == "precise" && compilation == metal::compile::PtxOptions(); }
};

// Compiles the functions that compiled for the simulator, and prints a line for each. Returns whether all of them compile.
bool list_ptx(const metal::Library& library, const std::vector<harness::InspectedFunction>& functions, const PtxListing& options);

}  // namespace assay::cli
