// Compares two iterations of a kernel on the same cases: which bits differ and by how much, which of the two is closer to the exact
// result, whether their claims hold, and what each of them costs.
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

// One case for each of the two kernels, with equal values, fixture and seed. Axes that say for which storage a kernel is made may
// differ if the two are made for different values. Their expectations then decide whether the data are the same.
struct CasePair {
  Case old_case, new_case;
  friend bool operator==(const CasePair&, const CasePair&) = default;
};

// A case that only one of the two kernels supports.
struct OneSidedCase {
  std::string name;
  std::string reason;  // why the other kernel does not support it
};

struct Pairing {
  std::vector<CasePair> pairs;
  std::vector<OneSidedCase> only_old, only_new;
};

struct PairingRequest {
  Suite suite = Suite::gate;  // used as requested, even if a variant is superseded
  // Case names and globs, written for either of the two (without the part of its name from an '@' on); empty: the whole suite.
  std::vector<std::string> words = {};
  std::uint64_t seed = 0;
};

// The cases of the suite for either variant, each once. Throws std::invalid_argument for a word that selects nothing and for a name
// that does not parse, naming the word, and for variants of different families.
[[nodiscard]] Pairing pair_cases(const PairingRequest& request, const kernels::Variant& old_variant, const kernels::Variant& new_variant);

// Whether the case's name parses to the case again: not every combination of values has a name.
[[nodiscard]] bool has_name(const Case& test_case);

// ---- what came of them

struct ComparedSide {
  Status status = Status::mistrusted;
  std::vector<Fault> faults;
  double max_ratio = 0;  // largest error / bound
  std::uint64_t digest = 0;
  metal::ExecutionCounters counters;
};

// The element of a case in which two outputs differ most.
struct Distance {
  double value = 0;  // in the unit of the member; infinite if only one of the two is finite
  std::size_t index = 0;
  double old_value = 0, new_value = 0;
};

struct CaseComparison {
  CasePair pair;
  ComparedSide old_side, new_side;
  // Whether both left an output. The following members describe the comparison.
  bool is_compared = false;
  bool is_same_bits = false;  // in every output byte, including partial results
  std::size_t elements = 0;   // of the judged output
  std::size_t differing = 0;  // number of these that differ in any bit
  std::size_t row_length = 1;
  Distance ulps;    // in units in the last place of the output's type; over elements that are rounded numbers
  Distance bounds;  // in units of the smaller of the two bounds

  [[nodiscard]] bool broke() const;   // the new one fails and the old one passed
  [[nodiscard]] bool healed() const;  // the old one failed, as a known finding or otherwise, and the new one passes
  [[nodiscard]] bool differs() const { return is_compared && !is_same_bits; }
};

struct ComparedCases {
  std::vector<CaseComparison> cases;             // in the order of the pairs; those with both verdicts
  std::vector<OneSidedCase> only_old, only_new;  // cases for which the other has no function, or other data
  std::size_t skipped = 0;                       // number of cases that both skipped
  bool stopped = false;
};

// Runs both cases of every pair like run_cases(), each in a worker, and compares their outputs. Of the schedules in `options`, the
// first one's output is compared. Throws what run_cases() throws.
[[nodiscard]] ComparedCases compare_cases(std::span<const CasePair> pairs, const Workbench& workbench, const RunOptions& options,
                                          const std::atomic<bool>& stop, RunListener& listener);

// ---- claims

struct ClaimResult {
  std::string claimant;
  std::string claim;      // as written
  std::size_t tried = 0;  // cases to which the claim applies and that have both outputs
  std::size_t broken = 0;
  std::string first_broken;  // name of a case
};

// The claimant's cases to which a claim applies and that `other` supports too: the `most` ones with the least work. `other` is the old
// kernel of a pair.
[[nodiscard]] std::vector<CasePair> claimed_pairs(const kernels::Claim& claim, const kernels::Variant& claimant,
                                                  const kernels::Variant& other, std::span<const CaseComparison> cases,
                                                  bool is_claimant_new, std::size_t most);
// The comparisons to which the claim applies, if it is about the compared pair.
[[nodiscard]] std::vector<CaseComparison> claimed_cases(const kernels::Claim& claim, std::span<const CaseComparison> cases,
                                                        bool is_claimant_new);
[[nodiscard]] ClaimResult claim_result(const kernels::Claim& claim, const std::string& claimant, std::span<const CaseComparison> cases);

// ---- costs

struct CostComparison {
  std::vector<std::string> cases;  // whose costs are added up
  metal::Cost old_cost, new_cost;
  metal::ExecutionCounters old_counters, new_counters;
  families::Minimum minimum;
};

inline constexpr std::size_t kCostCases = 8;

// Sums over the kCostCases most expensive cases that both pass. Each is counted in a worker, under the policy `checked`.
[[nodiscard]] CostComparison compare_costs(std::span<const CaseComparison> cases, const Workbench& workbench, const RunOptions& options,
                                           const std::atomic<bool>& stop, RunListener& listener);

// ---- where they part

// Starts with the cheapest differing pair, and finds the smallest values, axis by axis, with which the outputs still differ.
[[nodiscard]] std::optional<CasePair> smallest_differing(std::span<const CaseComparison> cases, const Workbench& workbench,
                                                         const RunOptions& options, const std::atomic<bool>& stop, RunListener& listener);

struct PartingResult {
  std::optional<Parting> parting;
  std::string reason;  // why there is none
};

// Runs find_parting() in a worker.
[[nodiscard]] PartingResult part(const CasePair& pair, const Workbench& workbench, const RunOptions& options, RunListener& listener);

}  // namespace assay::harness
