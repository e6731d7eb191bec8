// Runs failing cases with a repaired source.
#include "harness/triage/healed.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "harness/triage/minimise.h"
#include "harness/triage/suspects.h"

namespace assay::harness {

std::vector<bool> members_of(const Laboratory& laboratory, const Finding& finding, const std::string& repaired,
                             std::span<const Verdict> failures) {
  std::vector<bool> members(failures.size());
  if (repaired.empty()) {
    for (std::size_t i = 0; i < failures.size(); ++i) members[i] = fails_alike(failures[i], finding.given);
    return members;
  }
  Laboratory healed = with_text(laboratory, repaired);
  std::vector<Case> cases;
  for (const Verdict& verdict : failures) cases.push_back(verdict.test_case);
  healed.prefetch(cases);
  for (std::size_t i = 0; i < failures.size(); ++i) members[i] = healed.verdict(failures[i].test_case).status == Status::passed;
  return members;
}

std::vector<Case> take_healed(const Laboratory& laboratory, const std::string& repaired, std::vector<Finding>& findings,
                              std::vector<std::vector<Case>>& cases) {
  std::vector<Case> taken;
  if (repaired.empty()) return taken;
  Laboratory healed = with_text(laboratory, repaired);
  for (std::size_t i = 0; i < findings.size();) {
    healed.prefetch(cases[i]);
    const bool is_healed = std::ranges::all_of(cases[i], [&](const Case& one) { return healed.verdict(one).status == Status::passed; });
    if (!is_healed) {
      ++i;
      continue;
    }
    std::ranges::move(cases[i], std::back_inserter(taken));
    findings.erase(findings.begin() + static_cast<std::ptrdiff_t>(i));
    cases.erase(cases.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return taken;
}

}  // namespace assay::harness
