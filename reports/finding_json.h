// A finding of triage as JSON. Only for files of this folder.
#pragma once

#include <nlohmann/json.hpp>
#include <span>

#include "harness/findings/finding_record.h"
#include "harness/judge/judge.h"

namespace assay::reports {

// As docs/triage.schema.json and docs/report.schema.json describe it.
[[nodiscard]] nlohmann::ordered_json finding_json(const harness::FindingRecord& finding);

[[nodiscard]] nlohmann::ordered_json worst_json(std::span<const harness::WorstElement> worst, std::size_t row_length);

}  // namespace assay::reports
