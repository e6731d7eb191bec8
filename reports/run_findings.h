// What did not simply pass in a run, sorted into groups that look alike, for reports that begin with it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/ledger/ledger.h"

namespace assay::reports {

// "passed", "failed" ...; "no verdict" where the run was ended before there was one.
[[nodiscard]] std::string_view status_name(const harness::CaseRecord& record);

// Neither passed, known nor skipped.
[[nodiscard]] bool counts_as_failure(const harness::CaseRecord& record);

// Selected cases that the run has no verdict on: it was stopped, or killed.
[[nodiscard]] std::size_t without_verdict(const harness::RunRecord& run);

// What came of a run, in a line: "3 of 100 cases failed", "none of 383 cases failed, 593 of the 976 selected have no verdict".
[[nodiscard]] std::string outcome_text(const harness::RunRecord& run);

// Cases of one variant with the same verdict, whose reasons differ in nothing but numbers and files and whose first hazards stand in the
// same line. That they share a cause is likely and no more: `assay triage` finds out.
struct RunFinding {
  std::string variant;
  std::string status;                // status_name()
  bool is_failure = true;            // false: known, or skipped
  std::vector<std::size_t> members;  // indices of cases, ascending
  std::size_t smallest = 0;          // of these, by harness::size_of(); the first of several
  double largest_ratio = 0;          // error / bound, of any output element
};

// Failures first, then what is known, then what was skipped; of each the largest group first.
[[nodiscard]] std::vector<RunFinding> run_findings(std::span<const harness::CaseRecord> cases);

}  // namespace assay::reports
