// Judges many mutants, several at a time, each in a separate process.
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
  // > 0. When it is used up, no further mutant is started. Running mutants are finished, so that each campaign makes progress.
  std::chrono::duration<double> budget = std::chrono::hours(24 * 365);
};

class CampaignListener {
 public:
  virtual ~CampaignListener() = default;
  // Called in the order in which judgements arrive.
  virtual void judged(const Mutant& mutant, const TrialResult& result, std::size_t done, std::size_t total) = 0;
};

// Returns one result per mutant, in their order. A mutant is `unjudged` if `stop` or the budget prevented its trial, or if its process
// ended before there was a result. Results are cached (Trial::run()), so repeating the campaign continues it.
//
// Judges the original source first, and throws std::invalid_argument if it fails: mutants of a wrong kernel prove nothing. Must be
// called while no other thread runs. Throws metal::EnvironmentError if no process can be started.
[[nodiscard]] std::vector<TrialResult> run_campaign(const Trial& trial, const Source& source, std::span<const Mutant> mutants,
                                                    const CampaignOptions& options, const std::atomic<bool>& stop,
                                                    CampaignListener& listener);

}  // namespace assay::harness
