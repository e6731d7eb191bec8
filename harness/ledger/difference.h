// What changed between two runs: which cases broke, which healed, which came nearer to their bounds or farther from them.
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
  std::optional<Status> before, after;       // without a verdict: nothing
  double ratio_before = 0, ratio_after = 0;  // largest error/bound
  std::vector<Fault> faults;                 // of the later verdict
};

struct CostChange {
  std::string figure;  // "barriers"
  double before = 0, after = 0;
};

struct RunDifference {
  std::vector<CaseChange> broke;    // a success before, none any more
  std::vector<CaseChange> healed;   // the reverse
  std::vector<CaseChange> changed;  // another status of the same worth: failed and timeout, passed and known
  std::vector<CaseChange> drifted;  // the same status; error/bound moved by more than the limit, farthest first
  std::vector<std::string> only_before, only_after;
  std::size_t in_both = 0;
  std::size_t other_bits = 0;     // cases of equal status whose outputs are not the same bits
  std::vector<CostChange> costs;  // summed over the cases that both have figures for; those that differ
  double largest_drift = 0;       // of any case with the same status, whether above the limit or not
  std::string largest_drift_case;
};

// Cases are told by their names. `drift` >= 0, in units of the bound. Costs are counted by the policy `checked`.
[[nodiscard]] RunDifference difference_of(std::span<const CaseRecord> earlier, std::span<const CaseRecord> later, double drift);

}  // namespace assay::harness
