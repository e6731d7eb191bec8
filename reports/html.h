// Writes a run as one HTML page without other files and without network. reports/html/ contains the page.
#pragma once

#include <span>
#include <string>

#include "harness/ledger/ledger.h"
#include "reports/compilation.h"
#include "reports/other_runs.h"

namespace assay::reports {

// Returns UTF-8. Data of the run is never markup: it is embedded as JSON without '<', and the script turns it into text nodes. The same run
// gives the same bytes. `root`: reasons name files from there; null: without folders.
[[nodiscard]] std::string html(const harness::RunRecord& run, std::span<const harness::CaseRecord> cases, const OtherRuns& others = {},
                               const SourceRoot* root = nullptr);

// The errors of a compilation, or that there are none, as a page without scripts.
[[nodiscard]] std::string compilation_html(const Compilation& compilation, const SourceRoot& root);

}  // namespace assay::reports
