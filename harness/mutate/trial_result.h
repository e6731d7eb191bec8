// The result of trying one mutant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/findings/fault_fields.h"
#include "harness/findings/metal_fields.h"
#include "harness/process/verdict_wire.h"
#include "metal/policy.h"

namespace assay::harness {

enum class Fate {
  killed,      // a case did not pass
  survived,    // all cases passed
  equivalent,  // compiles to the same code as the original
  stillborn,   // does not compile, or lacks what the family needs, so it could not have been shipped
  unjudged,    // interrupted, out of time, or the harness failed
};
[[nodiscard]] std::string_view to_string(Fate fate);

// Why a mutant was not judged although nothing failed.
enum class Cut { none, interrupted, out_of_budget };

struct TrialResult {
  Fate fate = Fate::unjudged;
  Status verdict = Status::passed;               // of the case that killed it
  metal::Policy policy = metal::Policy::native;  // the policy under which it was killed
  std::string case_name;                         // the case that killed it
  std::vector<Fault> faults;                     // why that case did not pass
  std::string reason;                            // why the mutant is stillborn or unjudged; one line
  Cut cut = Cut::none;                           // if it is unjudged
  std::size_t cases = 0;                         // number of cases run, under all policies
  double slowest_seconds = 0;                    // wall-clock time of the longest of them
  bool is_cached = false;                        // all of it is known from an earlier run

  // Why the case failed, or the mutant is stillborn or unjudged; one line.
  [[nodiscard]] std::string why() const;
};

// Archives for transport and for the cache.
constexpr std::uint64_t largest(Fate) { return static_cast<std::uint64_t>(Fate::unjudged); }
void fields(auto& archive, base::OneOf<TrialResult> auto& value) {
  auto& [fate, verdict, policy, case_name, faults, reason, cut, cases, slowest_seconds, is_cached] = value;
  static_cast<void>(cut);  // set only by the parent
  each(archive, fate, verdict, policy, case_name, faults, reason, cases, slowest_seconds, is_cached);
}

}  // namespace assay::harness
