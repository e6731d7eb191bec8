// Groups the cases of a run that did not pass by similarity, for the start of reports.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/findings/remarks.h"
#include "harness/ledger/ledger.h"

namespace assay::reports {

// The status name: "passed", "failed" ...; "no verdict" for a case that the run did not finish.
[[nodiscard]] std::string_view status_name(const harness::CaseRecord& record);

// Whether the status is none of passed, known and skipped.
[[nodiscard]] bool counts_as_failure(const harness::CaseRecord& record);

// The number of selected cases without a verdict, because the run was stopped or killed.
[[nodiscard]] std::size_t without_verdict(const harness::RunRecord& run);

// The outcome in one line: "3 of 100 cases failed", "none of 383 cases failed, 593 of the 976 selected have no verdict".
[[nodiscard]] std::string outcome_text(const harness::RunRecord& run);

// Cases of one variant with the same verdict, whose reasons differ only in numbers and files, and whose first hazards are in the same line.
// They probably share a cause; `assay triage` checks that.
struct RunFinding {
  std::string variant;
  std::string status;                // status_name()
  bool is_failure = true;            // false: known, or skipped
  std::vector<std::size_t> members;  // indices of cases, ascending
  std::size_t smallest = 0;          // of these, by harness::size_of(); the first of several
  double largest_ratio = 0;          // error / bound, of any output element
};

// Remarks of policy `checked`: similar ones of all cases of a variant as one.
[[nodiscard]] std::vector<harness::RemarkGroup> remark_groups(std::span<const harness::CaseRecord> cases);

// Failures first, then known failures, then skipped cases; larger groups first.
[[nodiscard]] std::vector<RunFinding> run_findings(std::span<const harness::CaseRecord> cases);

}  // namespace assay::reports
