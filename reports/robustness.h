// Whether the kernels of a run that was executed with fast mathematics stand it.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "harness/ledger/ledger.h"

namespace assay::reports {

// Known failures and what was skipped say nothing about fast mathematics, and are left out.
struct Robustness {
  std::size_t passed = 0;
  std::size_t failed = 0;     // neither passed nor undecided; cases without a verdict are not among them
  std::size_t undecided = 0;  // mistrusted, because their bounds allow so much that right and wrong results fit
  std::size_t missing = 0;    // without a verdict
  double largest_ratio = 0;   // largest error / bound, of those that passed or failed
  std::string largest_ratio_case;

  // Nothing: the run did not decide it, because no case passed or some have no verdict.
  [[nodiscard]] std::optional<bool> passes() const;
};

// Nothing for a run without fast mathematics.
[[nodiscard]] std::optional<Robustness> find_robustness(const harness::RunRecord& run, std::span<const harness::CaseRecord> cases);

// "passes under fast math: yes, largest error/bound 0.43 in CASE (97 cases undecided: their bounds allow too much)".
[[nodiscard]] std::string robustness_text(const Robustness& robustness);

// The same of a run; empty without fast mathematics.
[[nodiscard]] std::string robustness_text(const harness::RunRecord& run, std::span<const harness::CaseRecord> cases);

}  // namespace assay::reports
