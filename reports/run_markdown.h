// A run as Markdown, for the summary of a CI job or a comment on a pull request.
#pragma once

#include <span>
#include <string>

#include "harness/ledger/ledger.h"
#include "reports/source_root.h"

namespace assay::reports {

// The length limit: GitHub rejects comments of more than 65,536 characters.
inline constexpr std::size_t kLongestMarkdown = 60000;

// The outcome, the first findings with their smallest case, its worst elements and replay line, and a row per variant. Text of kernels and
// users is escaped: it contains no markup and no mention. `root`: reasons name files from there;
// null: without folders.
[[nodiscard]] std::string run_markdown(const harness::RunRecord& run, std::span<const harness::CaseRecord> cases,
                                       const SourceRoot* root = nullptr);

}  // namespace assay::reports
