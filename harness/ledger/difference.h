// The differences between two runs: which cases broke, which were fixed, and which moved closer to their bounds or away from them.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/ledger/ledger.h"

namespace assay::harness {

struct CaseChange {
  std::string name;
  std::optional<Status> before, after;       // empty: no verdict
  double ratio_before = 0, ratio_after = 0;  // largest error/bound
  std::vector<Fault> faults;                 // of the later verdict
};

struct CostChange {
  std::string figure;  // "barriers"
  double before = 0, after = 0;
};

struct RunDifference {
  std::vector<CaseChange> broke;    // a success before, but not now
  std::vector<CaseChange> healed;   // the reverse
  std::vector<CaseChange> changed;  // another status of the same value: failed and timeout, passed and known
  std::vector<CaseChange> drifted;  // the same status; error/bound changed by more than the limit, largest change first
  std::vector<std::string> only_before, only_after;
  std::size_t in_both = 0;
  std::size_t other_bits = 0;     // number of cases with equal status whose outputs differ in any bit
  std::vector<CostChange> costs;  // sums over the cases for which both have figures; only those that differ
  double largest_drift = 0;       // over all cases with the same status, even if below the limit
  std::string largest_drift_case;
};

// Matches cases by name. `drift` >= 0, in units of the bound. Only the policy `checked` counts costs.
[[nodiscard]] RunDifference difference_of(std::span<const CaseRecord> earlier, std::span<const CaseRecord> later, double drift);

}  // namespace assay::harness
