// The parts of kernels that do not compile, which Metal's compiler would refuse the file for.
#pragma once

#include <string>
#include <vector>

#include "harness/prepare/workbench.h"

namespace assay::cli {

// What no selected case needs, and cases therefore run without; a sentence each.
[[nodiscard]] std::vector<std::string> left_out_of(const harness::Workbench& workbench);

}  // namespace assay::cli
