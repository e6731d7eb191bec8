// Findings of triage in words: what ledgers keep, and all reports of a finding show.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/findings/finding_record.h"
#include "harness/ledger/ledger.h"
#include "harness/triage/triage.h"
#include "reports/triage.h"

namespace assay::reports {

// `page` has the source, whose difference from the repaired one is the diff, and replay lines.
[[nodiscard]] harness::FindingRecord record_of(const TriagePage& page, const harness::Finding& finding);

// "mine.metal:118": the file without its folder. Empty if no line is suspected.
[[nodiscard]] std::string place_of(const harness::FindingRecord& finding);
// "oldest-key-lost: the oldest visible position is skipped (mine.metal:118)"; without the line if it is only a place to look.
[[nodiscard]] std::string headline_of(const harness::FindingRecord& finding);

// The index of the first finding that has a case among its cases, by the name of the case. Refers to the names of the findings.
[[nodiscard]] std::map<std::string_view, std::size_t> causes_by_case(const std::vector<harness::FindingRecord>& findings);

// The indices of the findings that have any of these cases, ascending.
[[nodiscard]] std::vector<std::size_t> causes_of(const std::vector<harness::FindingRecord>& findings,
                                                 std::span<const harness::CaseRecord> cases, std::span<const std::size_t> members);

}  // namespace assay::reports
