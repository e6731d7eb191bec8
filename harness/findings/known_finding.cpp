// Matches verdicts with the known findings of a variant.
#include "harness/findings/known_finding.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/findings/known_finding_text.h"

namespace assay::harness {

struct KnownFinding::Rules {
  kernels::KnownFinding declared;
  std::string place;
  Predicate when;
  std::vector<Signature> shows;
};

namespace {

fault::Finding fault_of(const KnownFinding& finding) {
  const kernels::KnownFinding& declared = finding.declared();
  return {finding.place(), declared.when, declared.shows, declared.see};
}

}  // namespace

KnownFinding::KnownFinding(const kernels::Variant& variant, const kernels::KnownFinding& declared) {
  const auto rules = std::make_shared<Rules>();
  rules->declared = declared;
  rules->place = fmt::format("{}:{}", variant.description.string(), declared.line);
  const auto read = [&](std::string_view key, std::string_view text, const auto& parse) {
    try {
      parse();
    } catch (const FindingSyntaxError& error) {
      throw kernels::VariantError(fmt::format("{}: [[known_finding]] {} = \"{}\": {}", rules->place, key, text, error.what()));
    }
  };
  read("when", declared.when, [&] { rules->when = parse_predicate(declared.when, family_of(variant)); });
  read("shows", declared.shows, [&] { rules->shows = parse_signatures(declared.shows); });
  rules_ = rules;
}

const std::string& KnownFinding::place() const { return rules_->place; }
const kernels::KnownFinding& KnownFinding::declared() const { return rules_->declared; }

bool KnownFinding::matches(const Case& test_case) const { return rules_->when(test_case).value_or(false); }

bool KnownFinding::is_shown_by(const Verdict& verdict) const {
  return std::ranges::any_of(rules_->shows, [&](const Signature& signature) { return signature.is_shown_by(verdict); });
}

bool KnownFinding::needs_checked() const { return std::ranges::all_of(rules_->shows, &Signature::needs_checked); }
bool KnownFinding::is_of_hazards() const {
  return std::ranges::any_of(rules_->shows, [](const Signature& signature) { return signature.symptom == Symptom::hazard; });
}

std::vector<KnownFinding> known_findings_of(const kernels::Variant& variant) {
  std::vector<KnownFinding> findings;
  for (const kernels::KnownFinding& declared : variant.known_findings) findings.emplace_back(variant, declared);
  return findings;
}

void settle_known_findings(std::span<const KnownFinding> findings, Verdict& verdict, metal::Policy policy, bool sees_hazards) {
  // A case that was not run, or in which the harness failed, says nothing about the kernel.
  if (verdict.status == Status::skipped || verdict.is_internal) return;

  std::vector<const KnownFinding*> matching;
  for (const KnownFinding& finding : findings) {
    if (policy != metal::Policy::checked && finding.needs_checked()) continue;
    if (finding.matches(verdict.test_case)) matching.push_back(&finding);
  }
  const bool failed = verdict.status != Status::passed;
  if (matching.empty()) {
    fault::LikeKnownFinding alike;
    for (const KnownFinding& finding : findings) {
      if (failed && finding.is_shown_by(verdict)) alike.findings.push_back(fault_of(finding));
    }
    if (!alike.findings.empty()) verdict.faults.emplace_back(std::move(alike));
    return;
  }
  const auto is_unseen = [&](const KnownFinding* finding) { return !sees_hazards && finding->is_of_hazards(); };
  if (!failed) {
    if (std::erase_if(matching, is_unseen) != 0 && matching.empty()) return;
    verdict.status = Status::failed;
    for (const KnownFinding* finding : matching) verdict.faults.emplace_back(fault::StaleFinding{fault_of(*finding)});
    return;
  }

  // Where a hazard ended the kernel, a wrong output need not show.
  const bool is_cut_short =
      sees_hazards ? policy == metal::Policy::checked && verdict.status == Status::hazard : verdict.status == Status::crashed;
  bool as_declared = true;
  for (const KnownFinding* finding : matching) {
    if (finding->is_shown_by(verdict) || is_unseen(finding)) continue;
    if (is_cut_short && !finding->is_of_hazards()) continue;
    as_declared = false;
    verdict.faults.emplace_back(fault::MissingFinding{fault_of(*finding)});
  }
  const auto is_declared = [&](const auto& what) {
    return std::ranges::any_of(matching, [&](const KnownFinding* finding) {
      return std::ranges::any_of(finding->rules_->shows, [&](const Signature& signature) { return signature.accounts_for(what); });
    });
  };
  const bool nothing_else = std::ranges::any_of(matching, is_unseen) ||
                            (std::ranges::all_of(symptoms_of(verdict), is_declared) && std::ranges::all_of(verdict.hazards, is_declared));
  if (as_declared && !nothing_else) verdict.faults.emplace_back(fault::BeyondFinding{fault_of(*matching.front())});
  if (!as_declared || !nothing_else) return;
  verdict.status = Status::known;
  fault::KnownFinding which;
  for (const KnownFinding* finding : matching) {
    which.findings.push_back(fault_of(*finding));
    verdict.known.push_back(finding->declared().see.empty() ? finding->place() : finding->declared().see);
  }
  verdict.faults.insert(verdict.faults.begin(), std::move(which));
}

}  // namespace assay::harness
