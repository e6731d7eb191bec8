// Groups failing cases by cause, and assembles the findings.
#include "harness/triage/triage.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "harness/cases/case_size.h"
#include "harness/cases/suite.h"
#include "harness/triage/confirm.h"
#include "harness/triage/each_mistake.h"
#include "harness/triage/focus.h"
#include "harness/triage/healed.h"
#include "harness/triage/localise.h"
#include "harness/triage/minimise.h"
#include "harness/triage/missing_barrier.h"
#include "harness/triage/nan_birth.h"
#include "harness/triage/nearby.h"
#include "harness/triage/ordered.h"
#include "harness/triage/repaired_class.h"
#include "harness/triage/second_mistake.h"
#include "harness/triage/subject_lines.h"
#include "harness/triage/suspects.h"
#include "harness/triage/telling_cases.h"
#include "harness/triage/without_repair.h"
#include "harness/triage/wrong_table.h"

namespace assay::harness {
namespace {

// A kernel may make several mistakes, and the smallest failing case may show another one than the given case.
void keep_symptom(Laboratory& laboratory, Finding& finding) {
  if (finding.given.status != Status::failed || finding.given.test_case == finding.minimal.test_case) return;
  std::vector<Observation> both;
  for (const Case& test_case : {finding.given.test_case, finding.minimal.test_case}) {
    if (size_of(test_case) > kLargestNearby) return;
    std::optional<Observation> observation = laboratory.observe(test_case);
    if (!observation || !observation->is_failure()) return;
    both.push_back(std::move(*observation));
  }
  if (!class_of(both, laboratory).empty()) return;
  const std::string_view given = class_of(std::span(both).first(1), laboratory);
  const std::string_view minimal = class_of(std::span(both).last(1), laboratory);
  if (!given.empty() && minimal.empty())
    finding.near.push_back(fmt::format("{} shows {}, which the smallest case alone does not", format_case(finding.given.test_case), given));
  // Of one class with two numbers, both are the same mistake.
  if (given.empty() || minimal.empty() || given == minimal) return;
  finding.near.push_back(fmt::format("{} fails as well, but like {} and not like {}, so the given case was not reduced to it",
                                     format_case(finding.minimal.test_case), minimal, given));
  finding.minimal = finding.given;
}

// Only hazards that a correct kernel never causes, and remarks where they fail the case.
void add_hazards(std::vector<metal::Hazard>& hazards, const Verdict& verdict) {
  std::vector<metal::Hazard> found = verdict.hazards;
  if (has_kind(verdict.faults, FaultKind::remark)) found.insert(found.end(), verdict.remarks.begin(), verdict.remarks.end());
  for (const metal::Hazard& hazard : found) {
    const bool is_known =
        std::ranges::any_of(hazards, [&](const metal::Hazard& known) { return known.kind == hazard.kind && known.first == hazard.first; });
    if (!is_known) hazards.push_back(hazard);
  }
}

Evidence gather_evidence(Laboratory& laboratory, Finding& finding, std::span<const Observation> passing) {
  Evidence evidence;
  evidence.faults = finding.minimal.faults;
  evidence.depends_on_order =
      has_kind(finding.minimal.faults, FaultKind::order_dependence) || has_kind(finding.given.faults, FaultKind::order_dependence);
  add_hazards(evidence.hazards, finding.minimal);
  add_hazards(evidence.hazards, finding.given);
  add_hazards(evidence.hazards, laboratory.verdict_under(finding.minimal.test_case, metal::Policy::checked));
  if (evidence.hazards.empty() && size_of(finding.given.test_case) < kLargestNearby)
    add_hazards(evidence.hazards, laboratory.verdict_under(finding.given.test_case, metal::Policy::checked));
  evidence.nan_birth = find_nan_birth(laboratory, finding.minimal, passing);
  const Verdict shadowed = laboratory.verdict_under(finding.minimal.test_case, metal::Policy::shadow);
  if (shadowed.split) {
    finding.split = shadowed.split;
    if (shadowed.lost_shadows.empty()) {
      evidence.rounding = shadowed.split->max_rounding_ratio;
      evidence.logic = shadowed.split->max_logic_ratio;
    }
  }
  finding.hazards = evidence.hazards;
  return evidence;
}

// The omission that a case is about; nullptr also for orders of simdgroups, whose cases compute what others do.
const Omission* unmodelled_omission(const Case& test_case) {
  const Omission* omission = omission_of(test_case);
  return omission == nullptr || (omission->same_bits && omission->same_bits->of_schedules()) ? nullptr : omission;
}

// Models, known mistakes and our sources are about the contract, so none of them explains what the contract leaves out.
Classification broken_claim(const Omission& omission, const Evidence& evidence) {
  return {.kind = mistake::kClaim,
          .says = fmt::format("the kernel does not {}", omission.ability),
          .goodness = 1,
          .decided = evidence.faults,
          .fits = {}};
}

std::string fared(const Observation& observation) {
  const Verdict& verdict = observation.verdict;
  return fmt::format("{} {}", to_string(verdict.status), format_case(verdict.test_case));
}

// Tries what undid the failure of a few cases on all of them and on suite `smoke`. Returns the case that it makes fail, if there is one.
std::vector<Case> broken_by(Laboratory& laboratory, Blame& blamed, std::span<const Case> given) {
  Laboratory repaired = with_text(laboratory, blamed.repaired);
  const Confirmation confirmation = confirm(laboratory, repaired, given, kConfirmation);
  for (Suspect& suspect : blamed.suspects) suspect.why += fmt::format("; with it, {}", to_text(confirmation));
  return confirmation.broken;
}

// A part of the guilty differences may do for few cases; then those that show more are added.
Blame blame_confirmed_differences(Laboratory& laboratory, std::vector<Case> must_pass, std::span<const Case> given,
                                  const TriageOptions& options) {
  constexpr int most = 3;
  for (int i = 0; i < most; ++i) {
    Blame blamed = blame_differences(laboratory, must_pass, options);
    if (blamed.suspects.empty()) return blamed;
    const std::vector<Case> broken = broken_by(laboratory, blamed, given);
    if (broken.empty()) return blamed;
    must_pass.insert(must_pass.end(), broken.begin(), broken.end());
  }
  return {};
}

// Whether landmarks show that the line which writes an array does so wrongly, and another line reads what it left out.
bool fills_partly(const kernels::Variant& variant, std::span<const metal::Hazard> hazards, const Focus& focus) {
  if (focus.suspects.empty()) return false;
  const Source source(kernels::read_text(variant.source), variant.source.string());
  const std::uint32_t writer = focus.suspects.front().line;
  if (!writes_element(source, writer)) return false;
  const Slices slices(source, {});
  return std::ranges::any_of(hazards, [&](const metal::Hazard& hazard) {
    if (hazard.kind != metal::HazardKind::uninitialised_read) return false;
    const std::set<std::string_view> read = slices.arrays_of(hazard.first.line);
    const std::set<std::string_view> written = slices.arrays_of(writer);
    // A function that gets the array as an argument has another name for it.
    return std::ranges::any_of(written, [&](std::string_view name) {
      return read.contains(name) || hazard.message.find(fmt::format("'{}'", name)) != std::string::npos;
    });
  });
}

// Fills the suspects, the most likely first, and returns the repaired source, if there is one. Long because each search depends on what the
// ones before it found.
std::string find_lines(Laboratory& laboratory, Finding& finding, const Nearby& nearby, std::span<const Verdict> left,
                       const TriageOptions& options, const Evidence& evidence, std::chrono::duration<double> budget) {
  constexpr std::size_t more = 3;
  // Whether a kernel gives wrong numbers is known sooner than whether it reads outside of its buffers, which may end its process.
  std::vector<Case> must_pass;
  if (finding.minimal.status != Status::failed) {
    const auto wrong = std::ranges::find(nearby.failing, Status::failed, [](const Observation& one) { return one.verdict.status; });
    if (wrong != nearby.failing.end() && !(wrong->test_case == finding.minimal.test_case)) must_pass.push_back(wrong->test_case);
  }
  must_pass.push_back(finding.minimal.test_case);
  for (const Observation& observation : nearby.failing) {
    if (must_pass.size() <= more && std::ranges::find(must_pass, observation.test_case) == must_pass.end())
      must_pass.push_back(observation.test_case);
  }
  std::vector<Case> given;
  for (const Verdict& verdict : left) given.push_back(verdict.test_case);
  const Classification likely = likely_class(finding.classification, given, options.passed);
  Blame blamed;
  Focus focus;
  bool knows_subject = false;
  const bool has_table = has_kind(evidence.faults, FaultKind::wrong_table);
  if (!options.is_fast && has_table) blamed = blame_wrong_tables(laboratory, evidence.faults, given);
  const bool is_of_table = !blamed.suspects.empty();
  if (!options.is_fast && !is_of_table) blamed = blame_confirmed_differences(laboratory, must_pass, given, options);
  // Where rounding is the larger part of the error, no landmark is wrong but by rounding, unless a known mistake explains all of it.
  const bool is_explained =
      finding.classification.goodness >= kSureFit && std::holds_alternative<decided::BestFit>(finding.classification.decided);
  const bool is_rounding = evidence.rounding && evidence.logic && *evidence.rounding > *evidence.logic && !is_explained;
  if (blamed.suspects.empty() && !is_rounding) {
    const Telling cases = telling(laboratory, finding, nearby, left);
    focus = focus_on(laboratory, cases.alike);
    if (!focus.is_sure) {
      Focus other = focus_on(laboratory, cases.others);
      if (other.is_sure) focus = std::move(other);
    }
    knows_subject = focus_on_subject(laboratory, likely, focus);
  }
  const auto* decisive = std::get_if<metal::Hazard>(&finding.classification.decided);
  const bool is_born = decisive != nullptr && decisive->kind == metal::HazardKind::nonfinite_result;
  if (is_born) {
    focus.suspicion.by_line[evidence.nan_birth->first.line] = 1;
    knows_subject = true;
  }
  const auto race = std::ranges::find_if(finding.hazards, needs_barrier);
  std::vector<Case> stays;
  for (const Observation& observation : nearby.passing) stays.push_back(observation.test_case);
  const EditSearch search = {.kind = likely.kind,
                             .is_kind_sure = likely.goodness >= kSureFit,
                             .failing = must_pass,
                             .passing = stays,
                             .given = given,
                             .suspicion = focus.suspects.empty() && !knows_subject ? nullptr : &focus.suspicion,
                             .landmarks = focus.landmarks && focus.is_sure ? &*focus.landmarks : nullptr,
                             .budget = budget,
                             .edits_tried = options.edits_tried};
  if (!options.is_fast && blamed.suspects.empty() && race != finding.hazards.end()) {
    blamed = blame_missing_barrier(laboratory, *race, std::span(&finding.minimal.test_case, 1), given);
    if (blamed.is_partial) blame_second_mistake(laboratory, blamed, search);
  }
  // An access outside of a buffer may follow from any mistake in an index.
  const bool is_half = is_of_table && blamed.is_partial;
  // A table that is no longer recognised is no longer compared, so an edit that hides a wrong one seems to repair it.
  if (!options.is_fast && (is_half || (blamed.suspects.empty() && !has_table)) && race == finding.hazards.end()) {
    if (!is_half) blamed = blame_small_edits(laboratory, search);
    // An edit that gives what is made of nothing another value heals what does not depend on it.
    if (blamed.is_partial && !is_born) blame_second_mistake(laboratory, blamed, search);
    // It is no repair, but says where to look.
    if (blamed.is_guess) blamed.repaired.clear();
  }
  finding.suspects = std::move(blamed.suspects);
  // Threads that read what others have overwritten may part; where a barrier orders them, they stay together.
  if (blamed.kind == mistake::kBarrier && !blamed.is_partial && finding.classification.kind == mistake::kDivergence) {
    finding.classification.kind = mistake::kBarrier;
    finding.classification.says = kMissingBarrier;
    finding.classification.decided = *race;
  }
  if (!blamed.repaired.empty() && !blamed.is_partial) {
    classify_by_repair(laboratory, nearby, blamed, given, options.passed, finding.classification);
    classify_each(laboratory, blamed, given, options.passed, finding.classification);
  } else if (!blamed.repaired.empty()) {
    if (finding.classification.goodness < kSureFit)
      classify_by_half(laboratory, nearby, blamed, given, options.passed, finding.classification);
    say_second(blamed, finding.classification);
  }
  if (blamed.repaired.empty()) classify_by_landmark(focus, given, options.passed, finding.classification);
  finding.repaired_source = blamed.repaired;
  // A race, an invalid access or a wrong table is certain; where landmarks part may only be its consequence.
  if (is_born && (blamed.repaired.empty() || blamed.is_partial)) {
    std::optional<Suspect> born = suspect_at(laboratory, evidence.nan_birth->first, evidence.nan_birth->message);
    if (born) finding.suspects.insert(finding.suspects.begin(), std::move(*born));
  }
  const auto add_focus = [&] { std::ranges::move(focus.suspects, std::back_inserter(finding.suspects)); };
  const bool is_focus_first = (finding.hazards.empty() && !has_table) || fills_partly(laboratory.variant(), finding.hazards, focus);
  if (is_focus_first) add_focus();
  std::ranges::move(observed_suspects(laboratory, finding, blamed.repaired.empty() && !options.is_fast),
                    std::back_inserter(finding.suspects));
  if (!is_focus_first) add_focus();
  return blamed.repaired;
}

// Of the small cases, puts the one first whose output is farthest from right: an error of hardly more than its bound shows little.
void clearest_first(std::vector<Verdict>& by_size) {
  if (by_size.empty()) return;
  constexpr double as_small = 8;
  const double limit = as_small * size_of(by_size.front().test_case);
  const auto end = std::ranges::find_if(by_size, [&](const Verdict& verdict) { return size_of(verdict.test_case) > limit; });
  const auto clarity = [](const Verdict& verdict) {
    // A number that is not finite, a hazard or a crash is as clear as can be; among them the smallest counts.
    constexpr double most = 1e3;
    return verdict.status == Status::failed && verdict.judgement.above_bound > 0 ? std::min(most, verdict.judgement.max_ratio) : most;
  };
  const auto clearest = std::ranges::max_element(by_size.begin(), end, {}, clarity);
  std::rotate(by_size.begin(), clearest, clearest + 1);
}

// An earlier finding that shows the same known mistake in another way, such as in what a promise says of the output; end() if there is
// none.
std::vector<Finding>::iterator same_mistake(std::vector<Finding>& findings, const Finding& finding) {
  const auto is_named = [](const Finding& one) {
    return one.repaired_source.empty() &&
           (std::holds_alternative<decided::BestFit>(one.classification.decided) || has_kind(one.minimal.faults, FaultKind::wrong_table));
  };
  return std::ranges::find_if(findings, [&](const Finding& earlier) {
    return earlier.classification.kind == finding.classification.kind && earlier.classification.says == finding.classification.says &&
           is_named(earlier) && is_named(finding);
  });
}

// Those with a repair, then those whose class is known.
void put_certain_first(std::vector<Finding>& findings) {
  constexpr double good = 0.9;
  order_by(findings, [](const Finding& finding) {
    if (!finding.repaired_source.empty()) return 0;
    return finding.classification.goodness >= good ? 1 : 2;
  });
}

void note_nearby(const Nearby& nearby, Finding& finding) {
  for (const Observation& observation : nearby.failing) {
    if (observation.test_case == finding.given.test_case) finding.where_given = localise(observation);
    if (observation.test_case == finding.minimal.test_case) finding.where = localise(observation);
    finding.near.push_back(fared(observation));
  }
  for (const Observation& observation : nearby.passing) finding.near.push_back(fared(observation));
}

// The first finding is most of the failing cases, and often the cause of the others. `searched`: what the ones before took.
std::chrono::duration<double> budget_of(const TriageOptions& options, std::size_t round, std::chrono::duration<double> searched) {
  constexpr double altogether = 1.5;
  const auto rest = std::max(std::chrono::duration<double>(0), altogether * options.repair_budget - searched);
  return std::min(rest, options.repair_budget / static_cast<double>(round + 1));
}

// A run compares arrays of constants alone.
void add_written_tables(const kernels::Variant& variant, Verdict& verdict) {
  if (has_kind(verdict.faults, FaultKind::wrong_table)) return;
  for (fault::WrongTable& table : find_wrong_written_tables(variant.source, verdict.test_case))
    verdict.faults.emplace_back(std::move(table));
}

}  // namespace

std::vector<Finding> triage(Laboratory& laboratory, std::span<const Verdict> failures, const TriageOptions& options) {
  std::vector<Verdict> left(failures.begin(), failures.end());
  order_by(left, [](const Verdict& verdict) { return size_of(verdict.test_case); });
  clearest_first(left);
  std::vector<Finding> findings;
  std::vector<std::vector<Case>> cases;  // by finding
  std::chrono::duration<double> searched(0);
  // Findings that become one still took their time.
  for (std::size_t round = 0; !left.empty() && round < options.most_findings; ++round) {
    Finding finding;
    finding.given = left.front();
    Minimised minimised = minimise(laboratory, finding.given, options.minimise_budget);
    finding.minimal = std::move(minimised.verdict);
    finding.tried = minimised.tried;

    keep_symptom(laboratory, finding);
    add_written_tables(laboratory.variant(), finding.minimal);
    const Nearby nearby = observe_nearby(laboratory, finding.given.test_case, finding.minimal.test_case, options.passed);
    const Evidence evidence = gather_evidence(laboratory, finding, nearby.passing);
    const Omission* omission = unmodelled_omission(finding.given.test_case);
    finding.classification =
        omission == nullptr ? classify(nearby.failing, nearby.right(), evidence, laboratory.shelf()) : broken_claim(*omission, evidence);
    note_nearby(nearby, finding);
    if (options.first_answer) options.first_answer(finding);

    std::string repaired;
    if (omission == nullptr) {
      const auto begun = std::chrono::steady_clock::now();
      repaired = find_lines(laboratory, finding, nearby, left, options, evidence, budget_of(options, round, searched));
      searched += std::chrono::steady_clock::now() - begun;
    }
    for (Suspect& suspect : finding.suspects) add_context(suspect);

    const std::vector<bool> members = members_of(laboratory, finding, repaired, left);
    std::vector<Verdict> rest;
    std::vector<Case> alike;
    for (std::size_t i = 0; i < left.size(); ++i) {
      if (i == 0 || members[i]) {
        finding.members.push_back(format_case(left[i].test_case));
        alike.push_back(std::move(left[i].test_case));
      } else {
        rest.push_back(std::move(left[i]));
      }
    }
    left = std::move(rest);
    clearest_first(left);
    std::vector<Case> others = take_healed(laboratory, repaired, findings, cases);
    if (!others.empty() && !finding.suspects.empty())
      finding.suspects.front().why += fmt::format("; {} other failing cases that seemed to have another cause pass too", others.size());
    for (Case& test_case : others) {
      finding.members.push_back(format_case(test_case));
      alike.push_back(std::move(test_case));
    }
    if (omission == nullptr) add_common(alike, options.passed, finding);
    if (const auto earlier = same_mistake(findings, finding); earlier != findings.end()) {
      std::ranges::move(finding.members, std::back_inserter(earlier->members));
      std::ranges::move(alike, std::back_inserter(cases[static_cast<std::size_t>(earlier - findings.begin())]));
      continue;
    }
    findings.push_back(std::move(finding));
    cases.push_back(std::move(alike));
  }
  put_certain_first(findings);
  return findings;
}

}  // namespace assay::harness
