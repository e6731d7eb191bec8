// The commands. Each returns the exit status; what it cannot do it throws.
#pragma once

#include "cli/options.h"

namespace assay::cli {

[[nodiscard]] int command_run(const Options& options);  // gate and run
[[nodiscard]] int command_list(const Options& options);
[[nodiscard]] int command_show(const Options& options);

}  // namespace assay::cli
