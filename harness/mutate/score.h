// The result of mutation testing: which mutants a suite killed, which survived, and the score.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/mutate/mutant.h"
#include "harness/mutate/source.h"
#include "harness/mutate/trial.h"
#include "kernels/equivalent_mutants.h"

namespace assay::harness {

struct JudgedMutant {
  Mutant mutant;
  TrialResult result;
  std::string equivalence;  // why it is equivalent to the original; empty if not declared
};

struct Tally {
  std::size_t killed = 0, survived = 0, equivalent = 0, stillborn = 0, unjudged = 0;

  [[nodiscard]] std::size_t total() const { return killed + survived + equivalent + stillborn + unjudged; }
  // killed / (killed + survived); 1 if both are 0.
  [[nodiscard]] double score() const;
};

struct MutationScore {
  std::vector<JudgedMutant> mutants;
  Tally tally;
  std::map<std::string_view, Tally> by_operator;
  std::map<std::uint32_t, Tally> by_line;         // from 1; only lines with mutants
  std::map<Status, std::size_t> killers;          // verdicts that killed
  std::map<metal::Policy, std::size_t> policies;  // policies under which they did
  std::vector<std::string> stale;                 // declared equivalents that the source no longer has, one sentence each
  std::vector<std::string> refuted;               // declared equivalents that a case killed, one sentence each
};

// Applies the declared equivalents to the results: a survivor counts as equivalent if it is declared for the current text of its line.
// A declaration for another text of the line, or for a mutant that is not in `all`, is stale. A declaration whose mutant was killed is
// refuted, and the mutant counts as killed. `mutants` may be a sample of `all`.
[[nodiscard]] MutationScore score_mutants(const Source& source, std::span<const Mutant> all, std::span<const Mutant> mutants,
                                          std::span<const TrialResult> results, std::span<const kernels::EquivalentMutant> declared);

}  // namespace assay::harness
