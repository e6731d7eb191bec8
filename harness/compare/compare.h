// Two iterations of a kernel on the same cases: whose bits differ, by how much, which of the two is nearer to the truth, whether what they
// declare holds, and what each of them costs.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/cases/case.h"
#include "harness/cases/suite.h"
#include "harness/compare/parting.h"
#include "harness/execute/cost.h"
#include "harness/prepare/workbench.h"
#include "harness/process/runner.h"
#include "kernels/variant.h"

namespace assay::harness {

// ---- which cases

// The same values, fixture and seed for both; but for axes that say which storage a kernel is made for, where the two are made for
// different ones: whether the data are the same all the same, their expectations tell.
struct CasePair {
  Case old_case, new_case;
  friend bool operator==(const CasePair&, const CasePair&) = default;
};

// A case that only one of the two is made for.
struct OneSidedCase {
  std::string name;
  std::string reason;  // why not the other
};

struct Pairing {
  std::vector<CasePair> pairs;
  std::vector<OneSidedCase> only_old, only_new;
};

struct PairingRequest {
  Suite suite = Suite::gate;  // taken as it is asked for, whether or not a variant is superseded
  // Case names and globs, written for either of the two (without what follows an '@' in its name); empty: the whole suite.
  std::vector<std::string> words = {};
  std::uint64_t seed = 0;
};

// Cases of the suite for either, each once. Throws std::invalid_argument, naming the word, for one that selects nothing, a name that does
// not parse, and for variants of different families.
[[nodiscard]] Pairing pair_cases(const PairingRequest& request, const kernels::Variant& old_variant, const kernels::Variant& new_variant);

// Whether a name gives back the case: not every combination of values has one.
[[nodiscard]] bool has_name(const Case& about);

// ---- what came of them

struct ComparedSide {
  Status status = Status::mistrusted;
  std::vector<Fault> faults;
  double max_ratio = 0;  // largest error / bound
  std::uint64_t digest = 0;
  metal::ExecutionCounters counters;
};

// The element of a case where two outputs are the furthest apart.
struct Distance {
  double value = 0;  // in the unit that the member says; infinite where one is no number and the other is one
  std::size_t index = 0;
  double old_value = 0, new_value = 0;
};

struct CaseComparison {
  CasePair pair;
  ComparedSide old_side, new_side;
  // Whether both left an output: the rest is about that.
  bool is_compared = false;
  bool is_same_bits = false;  // every output byte, those of partial results too
  std::size_t elements = 0;   // of the output that is judged
  std::size_t differing = 0;  // of these in any bit
  std::size_t row_length = 1;
  Distance ulps;    // units in the last place of the output's type; over elements that are rounded numbers
  Distance bounds;  // in units of the smaller of the two bounds

  [[nodiscard]] bool broke() const;   // the new one fails where the old one passed
  [[nodiscard]] bool healed() const;  // the old one fails, known findings included, where the new one passes
  [[nodiscard]] bool differs() const { return is_compared && !is_same_bits; }
};

struct ComparedCases {
  std::vector<CaseComparison> cases;             // in the order of the pairs; those with both verdicts
  std::vector<OneSidedCase> only_old, only_new;  // that one of the two has no function for, or no data in common
  std::size_t skipped = 0;                       // by both
  bool stopped = false;
};

// Runs both of every pair as run_cases() does, each in a worker, and holds their outputs against each other. Of `options`, the first
// schedule's output is compared. Throws as run_cases().
[[nodiscard]] ComparedCases compare_cases(std::span<const CasePair> pairs, const Workbench& workbench, const RunOptions& options,
                                          const std::atomic<bool>& stop, RunListener& listener);

// ---- claims

struct ClaimResult {
  std::string claimant;
  std::string claim;      // as it is written
  std::size_t tried = 0;  // cases that it is about and that have both outputs
  std::size_t broken = 0;
  std::string first_broken;  // name of a case
};

// The claimant's cases that a claim is about and that `other` takes as well, `most` with the least work; `other` is the old one of a pair.
[[nodiscard]] std::vector<CasePair> claimed_pairs(const kernels::Claim& claim, const kernels::Variant& claimant,
                                                  const kernels::Variant& other, std::span<const CaseComparison> cases,
                                                  bool is_claimant_new, std::size_t most);
// Where both are of the compared pair: their comparisons that the claim is about.
[[nodiscard]] std::vector<CaseComparison> claimed_cases(const kernels::Claim& claim, std::span<const CaseComparison> cases,
                                                        bool is_claimant_new);
[[nodiscard]] ClaimResult claim_result(const kernels::Claim& claim, const std::string& claimant, std::span<const CaseComparison> cases);

// ---- costs

struct CostComparison {
  std::vector<std::string> cases;  // whose costs are summed
  metal::Cost old_cost, new_cost;
  metal::ExecutionCounters old_counters, new_counters;
  families::Minimum minimum;
};

inline constexpr std::size_t kCostCases = 8;

// Sums over the kCostCases with the most work of those that both pass, each counted in a worker under the policy `checked`.
[[nodiscard]] CostComparison compare_costs(std::span<const CaseComparison> cases, const Workbench& workbench, const RunOptions& options,
                                           const std::atomic<bool>& stop, RunListener& listener);

// ---- where they part

// Axis by axis the smallest values with which the outputs still differ, from the differing pair with the least work on.
[[nodiscard]] std::optional<CasePair> smallest_differing(std::span<const CaseComparison> cases, const Workbench& workbench,
                                                         const RunOptions& options, const std::atomic<bool>& stop, RunListener& listener);

struct PartingResult {
  std::optional<Parting> parting;
  std::string reason;  // why there is none
};

// find_parting() in a worker.
[[nodiscard]] PartingResult part(const CasePair& pair, const Workbench& workbench, const RunOptions& options, RunListener& listener);

}  // namespace assay::harness
