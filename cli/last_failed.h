// Chooses or orders cases by how they ended when they last ran, for --last-failed and --failed-first.
#pragma once

#include <string>
#include <vector>

#include "cli/options.h"
#include "cli/workspace.h"

namespace assay::cli {

// --last-failed and --failed-first.
void add_last_failed(CLI::App& command, Options& options);

// With --last-failed, keeps of workspace.selection the cases that failed when they last ran; all if none did. With --failed-first, moves
// them to the front. A case last ran in the newest of the ledger's runs that has a verdict on it and was made with the same options
// (--kernel, --limit, --policy and whatever else a replay repeats). Adds a note that says what was done. Throws std::invalid_argument
// without a ledger, and harness::LedgerError if it cannot be read.
void take_last_failed(Workspace& workspace, const Options& options);

// The names of all cases that failed when they last ran with these options, in any of the newest runs; none without a ledger. Throws
// harness::LedgerError.
[[nodiscard]] std::vector<std::string> recent_failures(const Options& options);

}  // namespace assay::cli
