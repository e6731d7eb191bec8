// Runs failing cases with a repaired source, or compares them with what a known mistake does.
#include "harness/triage/healed.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "harness/cases/case_size.h"
#include "harness/triage/fit.h"
#include "harness/triage/minimise.h"
#include "harness/triage/nearby.h"
#include "harness/triage/suspects.h"
#include "harness/triage/telling_cases.h"

namespace assay::harness {

namespace {

// The known mistake that explains most of the failing cases, and not only by a number that was fitted to them; nullptr if there is none.
const Fit* known_mistake(const Classification& classification) {
  constexpr double half = 0.5, good = 0.9;
  if (!std::holds_alternative<decided::BestFit>(classification.decided)) return nullptr;
  const auto is_it = [&](const Fit& fit) {
    return fit.kind == classification.kind && fit.says == classification.says && !fit.is_pair && !fit.is_arbitrary && fit.exact >= half &&
           fit.goodness >= good;
  };
  const auto found = std::ranges::find_if(classification.fits, is_it);
  return found == classification.fits.end() ? nullptr : &*found;
}

// Cases that the known mistake would leave right, if another one explains them. A run may have thousands: those for which there is no time
// stay.
void leave_out_others(Laboratory& laboratory, const Finding& finding, std::span<const Verdict> failures, std::vector<bool>& members) {
  constexpr std::size_t looked_at = 3;
  constexpr std::chrono::seconds patience(5);
  const auto start = std::chrono::steady_clock::now();
  const Fit* known = known_mistake(finding.classification);
  if (known == nullptr) return;
  std::vector<std::size_t> others;
  std::vector<Observation> observed;
  for (std::size_t i = 1; i < failures.size() && std::chrono::steady_clock::now() - start < patience; ++i) {
    if (!members[i] || size_of(failures[i].test_case) > kLargestNearby) continue;
    std::optional<Observation> observation = laboratory.observe(failures[i].test_case);
    if (!observation || !observation->is_failure() || !leaves_right(*known, *observation, laboratory.shelf())) continue;
    others.push_back(i);
    if (observed.size() < looked_at) observed.push_back(std::move(*observation));
  }
  if (observed.empty()) return;
  const std::string_view kind = class_of(observed, laboratory);
  if (kind.empty() || kind == finding.classification.kind) return;
  for (const std::size_t i : others) members[i] = false;
}

}  // namespace

std::vector<bool> members_of(Laboratory& laboratory, const Finding& finding, const std::string& repaired,
                             std::span<const Verdict> failures) {
  std::vector<bool> members(failures.size());
  if (repaired.empty()) {
    for (std::size_t i = 0; i < failures.size(); ++i) members[i] = fails_alike(failures[i], finding.given);
    leave_out_others(laboratory, finding, failures, members);
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
