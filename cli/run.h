// Runs selected cases, and says and records what came out. For the commands that run many.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/workspace.h"
#include "harness/prepare/workbench.h"
#include "harness/process/runner.h"

namespace assay::cli {

// The run options for so many cases.
[[nodiscard]] harness::RunOptions run_options_for(const Options& options, std::size_t cases);

// Notes on a whole run, which every report repeats.
[[nodiscard]] std::vector<std::string> run_notes(const Options& options, const Workspace& workspace, const harness::Workbench& workbench);

// Runs workspace.selection, prints failures, notes and the summary, records everything, and returns the exit status.
[[nodiscard]] int run_prepared(const Options& options, const Workspace& workspace, const harness::Workbench& workbench,
                               const harness::RunOptions& running, const InterruptGuard& interrupt);

}  // namespace assay::cli
