// Runs selected cases, and says and records what came out. For the commands that run many.
#pragma once

#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/workspace.h"
#include "harness/prepare/workbench.h"
#include "harness/process/runner.h"

namespace assay::cli {

// Runs workspace.selection, prints failures, notes and the summary, records everything, and returns the exit status.
[[nodiscard]] int run_prepared(const Options& options, const Workspace& workspace, const harness::Workbench& workbench,
                               const harness::RunOptions& running, const InterruptGuard& interrupt);

}  // namespace assay::cli
