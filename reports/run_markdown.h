// A run as Markdown, for the summary of a CI job or a comment on a pull request.
#pragma once

#include <span>
#include <string>

#include "harness/ledger/ledger.h"

namespace assay::reports {

// Never longer than this, whatever failed: GitHub refuses comments of more than 65,536 characters.
inline constexpr std::size_t kLongestMarkdown = 60000;

// What came out, the first findings with their smallest case, its worst elements and the line that replays it, and a row per variant. Text
// of kernels and people is escaped: none of it is markup or mentions anybody.
[[nodiscard]] std::string run_markdown(const harness::RunRecord& run, std::span<const harness::CaseRecord> cases);

}  // namespace assay::reports
