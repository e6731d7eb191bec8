// What came of trying one mutant.
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
  survived,    // every case passed
  equivalent,  // compiles to the same code as the original
  stillborn,   // does not compile, or lacks what the family needs: nobody could have shipped it
  unjudged,    // interrupted, out of time, or the harness failed
};
[[nodiscard]] std::string_view to_string(Fate fate);

// What kept a mutant from being judged though nothing went wrong.
enum class Cut { none, interrupted, out_of_budget };

struct TrialResult {
  Fate fate = Fate::unjudged;
  Status verdict = Status::passed;               // of the case that killed it
  metal::Policy policy = metal::Policy::native;  // under which that case did not pass
  std::string case_name;                         // that case
  std::vector<Fault> faults;                     // why that case did not pass
  std::string reason;                            // why the mutant is stillborn, or nothing could be judged; one line
  Cut cut = Cut::none;                           // of one that is unjudged
  std::size_t cases = 0;                         // how many were run, under all policies
  double slowest_seconds = 0;                    // the longest of them, wall clock
  bool is_cached = false;                        // known from an earlier run, all of it

  // Why the case failed, the mutant is stillborn or nothing could be judged; one line.
  [[nodiscard]] std::string why() const;
};

// As an archive it travels, and lies in the cache.
constexpr std::uint64_t largest(Fate) { return static_cast<std::uint64_t>(Fate::unjudged); }
void fields(auto& archive, base::OneOf<TrialResult> auto& value) {
  auto& [fate, verdict, policy, case_name, faults, reason, cut, cases, slowest_seconds, is_cached] = value;
  static_cast<void>(cut);  // of one that the parent gave up
  each(archive, fate, verdict, policy, case_name, faults, reason, cases, slowest_seconds, is_cached);
}

}  // namespace assay::harness
