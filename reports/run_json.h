// A run as JSON for other programs.
#pragma once

#include <span>
#include <string>

#include "harness/ledger/ledger.h"

namespace assay::reports {

inline constexpr int kReportVersion = 1;

// Follows docs/report.schema.json, which a test enforces. A new field does not change the version; any other change does. UTF-8; numbers
// that are not finite are null.
[[nodiscard]] std::string run_json(const harness::RunRecord& run, std::span<const harness::CaseRecord> cases);

}  // namespace assay::reports
