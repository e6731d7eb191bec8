// A run as one HTML page that needs nothing else: no network, no file beside it. The page itself stands in reports/html/.
#pragma once

#include <span>
#include <string>

#include "harness/ledger/ledger.h"

namespace assay::reports {

// UTF-8. Nothing of the run is markup: it is in the page as JSON, in which no '<' is left, and the page's script makes text of it. The same
// run gives the same bytes.
[[nodiscard]] std::string html(const harness::RunRecord& run, std::span<const harness::CaseRecord> cases);

}  // namespace assay::reports
