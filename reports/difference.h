// What changed between two recorded runs, as text for people and as JSON.
#pragma once

#include <string>

#include "harness/ledger/difference.h"
#include "harness/ledger/ledger.h"

namespace assay::reports {

inline constexpr int kDifferenceVersion = 1;

struct ComparedRuns {
  harness::RunRecord earlier, later;
  std::string earlier_file, later_file;  // of their ledgers
  double drift = 0;                      // in bounds, from which on a case is listed
};

// Lists are cut after `longest` entries, with the number of the others.
[[nodiscard]] std::string difference_text(const ComparedRuns& runs, const harness::RunDifference& difference, std::size_t longest);
// Everything; keys in a fixed order. A ratio that is no finite number is null.
[[nodiscard]] std::string difference_json(const ComparedRuns& runs, const harness::RunDifference& difference);

}  // namespace assay::reports
