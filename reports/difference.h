// The differences of two recorded runs, as text for people and as JSON.
#pragma once

#include <string>

#include "harness/ledger/difference.h"
#include "harness/ledger/ledger.h"

namespace assay::reports {

inline constexpr int kDifferenceVersion = 1;

// From how many bounds on a change of error/bound is worth a line, unless somebody asks otherwise.
inline constexpr double kUsualDrift = 0.05;

struct ComparedRuns {
  harness::RunRecord earlier, later;
  std::string earlier_file, later_file;  // files of the two ledgers
  double drift = 0;                      // threshold, in bounds, from which a case is listed
};

// "100 cases in both: 1 broke, ...": one line without its end.
[[nodiscard]] std::string difference_summary(const ComparedRuns& runs, const harness::RunDifference& difference);

// Each list shows at most `longest` entries and the number of the rest.
[[nodiscard]] std::string difference_text(const ComparedRuns& runs, const harness::RunDifference& difference, std::size_t longest);
// Complete, with a fixed key order. A ratio that is not finite is null.
[[nodiscard]] std::string difference_json(const ComparedRuns& runs, const harness::RunDifference& difference);

}  // namespace assay::reports
