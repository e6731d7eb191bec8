// Other runs beside the one that a report is about: earlier ones of its ledger, and one that it is compared with.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/ledger/ledger.h"
#include "reports/difference.h"

namespace assay::reports {

struct PastRun {
  harness::RunRecord run;
  std::vector<harness::CaseOutcome> outcomes;
};

// The run with which a report compares its own: the earlier one of the two.
struct AgainstRun {
  ComparedRuns runs;
  std::vector<harness::CaseRecord> cases;  // of the earlier one
};

struct OtherRuns {
  std::vector<PastRun> past = {};  // oldest first
  std::string trouble = {};        // why the past is not known; empty if it is
  std::optional<AgainstRun> against = {};
};

inline constexpr std::size_t kMostPastRuns = 50;

// The newest kMostPastRuns runs of the ledger before this one that have any of its cases. A damaged ledger has no past.
[[nodiscard]] OtherRuns past_of(const harness::Ledger& ledger, const harness::RunRecord& run, std::span<const harness::CaseRecord> cases);

}  // namespace assay::reports
