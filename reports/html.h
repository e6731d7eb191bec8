// Writes a run as one HTML page without other files and without network. reports/html/ contains the page.
#pragma once

#include <span>
#include <string>

#include "harness/ledger/ledger.h"

namespace assay::reports {

// Returns UTF-8. Data of the run is never markup: it is embedded as JSON without '<', and the script turns it into text nodes. The same run
// gives the same bytes.
[[nodiscard]] std::string html(const harness::RunRecord& run, std::span<const harness::CaseRecord> cases);

}  // namespace assay::reports
