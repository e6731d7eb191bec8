// A run as Markdown, for the summary of a CI job or a comment on a pull request.
#pragma once

#include <span>
#include <string>

#include "harness/ledger/ledger.h"

namespace assay::reports {

// The length limit: GitHub rejects comments of more than 65,536 characters.
inline constexpr std::size_t kLongestMarkdown = 60000;

// The outcome, the first findings with their smallest case, its worst elements and replay line, and a row per variant. Text of kernels and
// users is escaped: it contains no markup and no mention.
[[nodiscard]] std::string run_markdown(const harness::RunRecord& run, std::span<const harness::CaseRecord> cases);

}  // namespace assay::reports
