// Tries one mutant: compiles it, runs cases until one fails, and returns its fate.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/cases/case.h"
#include "harness/mutate/killer.h"
#include "harness/mutate/trial_result.h"
#include "harness/prepare/workbench.h"
#include "kernels/variant.h"

namespace assay::harness {

struct TrialSubject {
  std::vector<kernels::Variant> catalogue;  // the variant, and those from which it may borrow
  std::string variant;                      // name of the variant whose source is mutated
  std::vector<Case> cases;                  // in the order of their suite
  // The policies to judge under, one after the other until one kills; at least one, all different.
  std::vector<metal::Policy> policies = {metal::Policy::native};
  kernels::FieldValues fields;                                        // `--set`
  oracles::ArithmeticProfile profile = oracles::simulator_profile();  // of the bounds
  std::string judge_version;  // identifies the judging program: results of another one are not reused
};

class Trial {
 public:
  // Compiles the original under every policy. Throws what Library and Workbench throw, and std::invalid_argument if there is no such
  // variant, no case or no policy.
  explicit Trial(TrialSubject subject);

  // Runs cases in an order that finds most mistakes early: first the case that killed this mutant when it was last tried, then a few
  // short cases for each function of the family, then all others. Policies other than native cost many times as much, so they only run
  // cases that are also in suite `smoke`, or all cases if none is. The first policy is the one that killed when the mutant was last
  // tried. Neither order affects the fate.
  //
  // A mutant is equivalent if it compiles to the same code as the original under `native`, or under every policy if `native` is not one
  // of them, and no case under another policy detects it.
  //
  // A case that takes longer than `timeout` kills the mutant. Must be called while no other thread runs (run_cases()). Results are
  // cached by policy in the cache of compiled kernels, unless the source includes other files of its own.
  [[nodiscard]] TrialResult run(const std::string& mutated, std::chrono::duration<double> timeout) const;

  // The text of the original source.
  [[nodiscard]] const std::string& original() const { return original_; }
  [[nodiscard]] const kernels::Variant& variant() const;

 private:
  using Stages = std::vector<std::vector<Case>>;

  [[nodiscard]] TrialResult run_under(metal::Policy policy, const std::string& mutated, const std::optional<Killer>& killer,
                                      std::chrono::duration<double> timeout) const;
  [[nodiscard]] TrialResult run_uncached(metal::Policy policy, const std::string& mutated, const std::optional<Killer>& killer,
                                         std::chrono::duration<double> timeout) const;
  // The functions of the mutated source that the cases dispatch, including those before the judged one.
  [[nodiscard]] std::set<metal::PipelineDescriptor> own_functions() const;
  [[nodiscard]] WorkbenchOptions bench_options() const;
  [[nodiscard]] bool compiles_to_the_same(const std::string& mutated, metal::Policy policy) const;
  [[nodiscard]] std::string cache_key(const std::string& mutated, metal::Policy policy) const;

  TrialSubject subject_;
  std::string original_;
  std::map<metal::Policy, Stages> stages_;
  std::string toolchain_;
  std::set<std::string, std::less<>> helper_families_;                                       // families whose functions are dispatched too
  std::map<std::pair<metal::Policy, metal::PipelineDescriptor>, std::string> code_digests_;  // of the original's functions
  bool has_includes_ = false;
};

}  // namespace assay::harness
