// A run as JSON for other programs.
#pragma once

#include <span>
#include <string>

#include "harness/ledger/ledger.h"

namespace assay::reports {

inline constexpr int kReportVersion = 1;

// As docs/report.schema.json says, which a test holds it to; a field more is no new version, anything else is. UTF-8; numbers that are not
// finite are null.
[[nodiscard]] std::string run_json(const harness::RunRecord& run, std::span<const harness::CaseRecord> cases);

}  // namespace assay::reports
