// The parts of kernels that do not compile, which Metal's compiler would refuse the file for.
#pragma once

#include <string>
#include <vector>

#include "harness/prepare/workbench.h"

namespace assay::cli {

// What no selected case needs, and cases therefore run without; a sentence each. `variant`: of this one alone; empty: of all.
[[nodiscard]] std::vector<std::string> left_out_of(const harness::Workbench& workbench, const std::string& variant);

}  // namespace assay::cli
