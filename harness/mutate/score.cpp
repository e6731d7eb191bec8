// Counts the fates of mutants, and applies declared equivalents.
#include "harness/mutate/score.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "base/text.h"

namespace assay::harness {
namespace {

void count(Tally& tally, Fate fate) {
  switch (fate) {
    case Fate::killed:
      ++tally.killed;
      break;
    case Fate::survived:
      ++tally.survived;
      break;
    case Fate::equivalent:
      ++tally.equivalent;
      break;
    case Fate::stillborn:
      ++tally.stillborn;
      break;
    case Fate::unjudged:
      ++tally.unjudged;
      break;
  }
}

}  // namespace

double Tally::score() const {
  const std::size_t judged = killed + survived;
  return judged == 0 ? 1.0 : static_cast<double>(killed) / static_cast<double>(judged);
}

MutationScore score_mutants(const Source& source, std::span<const Mutant> all, std::span<const Mutant> mutants,
                            std::span<const TrialResult> results, std::span<const kernels::EquivalentMutant> declared) {
  if (mutants.size() != results.size())
    throw std::invalid_argument(fmt::format("{} mutants and {} results", mutants.size(), results.size()));
  MutationScore score;
  std::map<std::string, std::string> reasons;  // by id, of declarations that match the current text
  for (const kernels::EquivalentMutant& known : declared) {
    const auto found = std::ranges::find_if(all, [&](const Mutant& mutant) { return mutant.id() == known.id; });
    if (found == all.end()) {
      score.stale.push_back(fmt::format("equivalent.toml:{}: mutant {} no longer exists", known.place, known.id));
    } else if (const std::string_view line = base::trimmed(source.line(found->line)); line != known.line) {
      score.stale.push_back(fmt::format("equivalent.toml:{}: {} was declared for the line '{}', but the line is now '{}'", known.place,
                                        known.id, known.line, line));
    } else {
      reasons.emplace(known.id, known.reason);
    }
  }
  for (std::size_t i = 0; i < mutants.size(); ++i) {
    JudgedMutant judged{mutants[i], results[i], {}};
    const auto reason = reasons.find(judged.mutant.id());
    if (judged.result.fate == Fate::equivalent) {
      judged.equivalence = judged.result.why();
    } else if (reason != reasons.end() && judged.result.fate == Fate::survived) {
      judged.equivalence = reason->second;
      judged.result.fate = Fate::equivalent;
    } else if (reason != reasons.end() && judged.result.fate == Fate::killed) {
      score.refuted.push_back(fmt::format("{} is declared equivalent ({}), but under policy {} {} {}: {}", judged.mutant.id(),
                                          reason->second, to_string(judged.result.policy), to_string(judged.result.verdict),
                                          judged.result.case_name, judged.result.why()));
    }
    if (judged.result.fate == Fate::killed) {
      ++score.killers[judged.result.verdict];
      ++score.policies[judged.result.policy];
    }
    count(score.tally, judged.result.fate);
    count(score.by_operator[judged.mutant.op], judged.result.fate);
    count(score.by_line[judged.mutant.line], judged.result.fate);
    score.mutants.push_back(std::move(judged));
  }
  return score;
}

}  // namespace assay::harness
