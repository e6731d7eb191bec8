// Judges many mutants, several at a time, each in a process of its own.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

#include "harness/mutate/mutant.h"
#include "harness/mutate/source.h"
#include "harness/mutate/trial.h"

namespace assay::harness {

struct CampaignOptions {
  unsigned jobs = 1;                          // mutants at a time, >= 1
  std::chrono::duration<double> timeout{10};  // per case, at least; ten times the original's slowest case if that is longer
  // > 0; when it is over, no further mutant is started. Those that run are finished, so that each campaign gets on.
  std::chrono::duration<double> budget = std::chrono::hours(24 * 365);
};

class CampaignListener {
 public:
  virtual ~CampaignListener() = default;
  // In the order in which judgements arrive.
  virtual void judged(const Mutant& mutant, const TrialResult& result, std::size_t done, std::size_t total) = 0;
};

// One result per mutant, in their order; `unjudged` for those that `stop` or the budget cut off and for those whose process died before
// there was a result. What is judged is kept (Trial::run()): the same campaign again does the rest. Judges the unmutated source first and
// throws std::invalid_argument if that is not right: mutants of a wrong kernel prove nothing. Must be called where no other thread runs.
// Throws metal::EnvironmentError if no process can be started.
[[nodiscard]] std::vector<TrialResult> run_campaign(const Trial& trial, const Source& source, std::span<const Mutant> mutants,
                                                    const CampaignOptions& options, const std::atomic<bool>& stop,
                                                    CampaignListener& listener);

}  // namespace assay::harness
