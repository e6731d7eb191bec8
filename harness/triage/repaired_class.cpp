// Fits known mistakes to more of the cases that a repair heals.
#include "harness/triage/repaired_class.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "harness/cases/case_size.h"
#include "harness/triage/common_feature.h"
#include "harness/triage/fit.h"
#include "harness/triage/focus.h"
#include "harness/triage/hunks.h"
#include "harness/triage/ordered.h"
#include "harness/triage/repaired_thing.h"

namespace assay::harness {
namespace {

// Some of the cases of all sizes, with their outputs.
std::vector<Observation> observe_some(Laboratory& laboratory, std::span<const Case> failing) {
  constexpr std::size_t most = 5;
  constexpr std::size_t tried = 8;
  constexpr double largest = 3e5;
  std::vector<Case> cases;
  for (const Case& test_case : failing) {
    if (size_of(test_case) <= largest) cases.push_back(test_case);
  }
  order_by(cases, [](const Case& test_case) { return size_of(test_case); });
  std::vector<Observation> observed;
  const std::size_t count = std::min(tried, cases.size());
  for (std::size_t i = 0; i < count && observed.size() < most; ++i) {
    std::optional<Observation> observation = laboratory.observe(cases[i * cases.size() / count]);
    if (observation && observation->is_failure()) observed.push_back(std::move(*observation));
  }
  return observed;
}

bool tells_nothing(const Observation& observation) {
  bool any = false;
  for (std::size_t i = 0; i < observation.actual.size(); ++i) {
    if (!observation.is_faulty(i)) continue;
    any = true;
    if (std::isfinite(observation.actual[i]) && observation.actual[i] != 0.0) return false;
  }
  return any;
}

// Whether each wrong output is that of a row that sees nothing: 0, or minus infinity as the logarithm of its sum.
bool sees_nothing_where_wrong(const Observation& observation) {
  bool any = false;
  for (std::size_t i = 0; i < observation.actual.size(); ++i) {
    if (!observation.is_faulty(i)) continue;
    any = true;
    if (observation.actual[i] != 0.0 && observation.actual[i] != -std::numeric_limits<double>::infinity()) return false;
  }
  return any;
}

// What is computed wrongly first, in the case that tells most about it; nullopt if values are missing rather than wrong.
std::optional<RepairedThing> thing_of_landmarks(const Focus& focus) {
  if (focus.kind.empty()) return std::nullopt;
  return RepairedThing{focus.kind, says_first_wrong(focus.landmark)};
}

// Whether they only fail in cases in which something else enters the softmax: then that goes wrong, whichever value shows it first.
bool is_of_softmax(const std::optional<CommonFeature>& common) {
  return common && (common->kind == mistake::kSinks || common->kind == mistake::kSoftcap);
}

// `common`: what only cases have that the repair heals.
std::optional<RepairedThing> thing_of(Laboratory& laboratory, std::span<const Observation> failing, const Blame& blamed,
                                      const std::optional<CommonFeature>& common) {
  const bool has_feature = common && !common->kind.empty();
  // An edit that heals a part of the cases may do so by going around the mistake.
  if (blamed.is_partial && has_feature) return RepairedThing{common->kind, common->says};
  std::optional<RepairedThing> thing =
      repaired_thing(laboratory.variant(), kernels::read_text(laboratory.variant().source), blamed.repaired);
  if (thing && !thing->is_vague) return thing;
  const Focus focus = focus_on(laboratory, failing);
  // Where a loop ends too early, keys are lost, whatever its limit depends on. One that ends too late leaves no row without keys.
  const bool sees_nothing = std::ranges::any_of(failing, sees_nothing_where_wrong);
  if (thing && thing->is_limit && (focus.is_missing || sees_nothing))
    return RepairedThing{mistake::kChunk, "the repair changes the limits of a loop, which leaves out keys", true, true};
  std::optional<RepairedThing> computed = thing_of_landmarks(focus);
  // Values that are computed wrongly because a loop ends elsewhere lack a part of what is summed up or merged there.
  const bool is_limit = thing && thing->kind == mistake::kChunk;
  const auto is_merged = [](std::string_view kind) {
    return kind == mistake::kUnnormalised || kind == mistake::kRescale || kind == mistake::kMaximum;
  };
  if (is_limit && computed && is_merged(computed->kind)) return thing;
  if (is_of_softmax(common)) return RepairedThing{common->kind, common->says};
  // A wrong scale shows in all cases, not only in those with a feature.
  if (computed && !(has_feature && computed->kind == mistake::kScale)) return computed;
  if (has_feature) return RepairedThing{common->kind, common->says};
  return thing;
}

bool is_open(const Classification& classification) {
  return classification.kind == mistake::kUnknown || std::holds_alternative<decided::BestFit>(classification.decided);
}

// An access to a wrong place, or to none, is what many mistakes lead to; the repair says which one it is.
void add_cause(const Laboratory& laboratory, const std::string& repaired, Classification& classification) {
  const bool is_consequence = classification.kind == mistake::kBounds || classification.kind == mistake::kNotWritten ||
                              classification.kind == mistake::kUninitialised || classification.kind == mistake::kLayout;
  if (!is_consequence) return;
  const std::optional<RepairedThing> thing =
      repaired_thing(laboratory.variant(), kernels::read_text(laboratory.variant().source), repaired);
  // The limits of a loop say no more than the access does.
  const bool tells = thing && thing->kind != classification.kind && thing->kind != mistake::kUnknown &&
                     !(thing->is_vague && thing->kind == mistake::kChunk);
  if (!tells) return;
  classification.says += fmt::format("; the cause ({}): {}", thing->kind, thing->says);
}

// Of the known mistakes that explain as much as the best one, the one that the repair is about; nullptr if there is none.
const Fit* told_by_repair(std::span<const Fit> fits, const kernels::Variant& variant, const std::string& repaired) {
  if (fits.empty()) return nullptr;
  const std::optional<RepairedThing> thing = repaired_thing(variant, kernels::read_text(variant.source), repaired);
  if (!thing) return nullptr;
  const Fit& best = fits.front();
  constexpr double equal = 1e-6;
  const auto found = std::ranges::find_if(fits, [&](const Fit& fit) {
    return fit.kind == thing->kind && fit.goodness > best.goodness - equal && fit.exact >= best.exact && fit.predicted >= best.predicted;
  });
  return found == fits.end() ? nullptr : &*found;
}

// Two mistakes are in two places.
bool is_at_one_place(const Laboratory& laboratory, const std::string& repaired) {
  const std::optional<std::vector<Hunk>> hunks = hunks_between(kernels::read_text(laboratory.variant().source), repaired, true);
  return hunks && by_lines(*hunks).size() == 1;
}

bool is_of_pair(const Classification& classification) {
  return std::ranges::any_of(classification.fits, [&](const Fit& fit) { return fit.is_pair && fit.says == classification.says; });
}

}  // namespace

void classify_by_repair(Laboratory& laboratory, const Nearby& nearby, const Blame& blamed, std::span<const Case> failing,
                        std::span<const Case> passed, Classification& classification) {
  if (!is_open(classification)) {
    add_cause(laboratory, blamed.repaired, classification);
    return;
  }
  constexpr double exact = 0.95, good = 0.9;
  const std::optional<CommonFeature> common = common_feature(failing, passed);
  std::vector<Observation> observed = observe_some(laboratory, failing);
  observed.insert(observed.end(), nearby.failing.begin(), nearby.failing.end());
  // Cases that are too expensive to be observed show no known mistake.
  std::vector<Fit> fits = observed.empty() ? std::vector<Fit>() : fits_of(observed, nearby.right(), laboratory.shelf());
  if (is_at_one_place(laboratory, blamed.repaired)) {
    // Where a pair explains most, what one mistake explains stands behind it.
    const bool has_pair = std::erase_if(fits, &Fit::is_pair) > 0 || is_of_pair(classification);
    if (has_pair) std::ranges::copy_if(classification.fits, std::back_inserter(fits), [](const Fit& fit) { return !fit.is_pair; });
    if (is_of_pair(classification)) classification.kind = mistake::kUnknown;
  }
  const auto take = [&](std::string_view kind, std::string says) {
    classification.kind = kind;
    classification.says = std::move(says);
    classification.decided = decided::Repaired{};
  };
  // What also tells the cases that pass is no guess, though the output is nothing but zeros.
  const bool tells_passing = std::ranges::any_of(classification.fits, [&](const Fit& fit) {
    return fit.kind == classification.kind && fit.says == classification.says && fit.has_passing && !fit.is_arbitrary && !fit.is_pair &&
           std::min({fit.predicted, fit.goodness, fit.exact}) > exact;
  });
  // Many mistakes make an output 0, or no number, so the repair says more than an output that is nothing else.
  const bool says_nothing = !observed.empty() && std::ranges::all_of(observed, tells_nothing);
  if (says_nothing && tells_passing) return;
  if (says_nothing && blamed.kind.empty()) {
    std::optional<RepairedThing> thing = thing_of(laboratory, observed, blamed, common);
    if (thing && thing->kind != mistake::kUnknown) return take(thing->kind, std::move(thing->says));
  }
  if (says_nothing) std::erase_if(fits, [&](const Fit& fit) { return !blamed.kind.empty() && fit.kind != blamed.kind; });
  const auto explains = [&](const Fit& fit) {
    const bool contradicts_itself = fit.is_arbitrary && fit.varies;
    return fit.kind != mistake::kUnknown && !contradicts_itself && (fit.exact > exact || (fit.goodness > good && !fit.is_arbitrary));
  };
  const auto take_fit = [&](const Fit& fit) {
    classification.kind = fit.kind;
    classification.says = fit.says;
    classification.goodness = fit.goodness;
    classification.decided = decided::BestFit{fit.goodness};
  };
  if (const Fit* fit = told_by_repair(fits, laboratory.variant(), blamed.repaired); fit != nullptr && explains(*fit)) return take_fit(*fit);
  if (std::ranges::any_of(fits, [&](const Fit& fit) { return fit.kind == classification.kind && explains(fit); })) return;
  if (const auto fit = std::ranges::find_if(fits, explains); fit != fits.end()) return take_fit(*fit);
  if (blamed.kind == mistake::kScale && is_of_softmax(common)) {
    take(common->kind, common->says);
  } else if (!blamed.kind.empty()) {
    // What explains a part of the cases says more.
    if (classification.kind != blamed.kind) take(blamed.kind, std::string(blamed.says));
  } else if (std::optional<RepairedThing> thing = thing_of(laboratory, observed, blamed, common)) {
    take(thing->kind, std::move(thing->says));
  }
}

void classify_by_half(Laboratory& laboratory, const Nearby& nearby, const Blame& blamed, std::span<const Case> failing,
                      std::span<const Case> passed, Classification& classification) {
  Laboratory half = with_text(laboratory, blamed.repaired);
  const auto is_healed = [&](const Case& test_case) { return half.verdict(test_case).status == Status::passed; };
  half.prefetch(failing);
  std::vector<Case> healed;
  std::ranges::copy_if(failing, std::back_inserter(healed), is_healed);
  if (healed.empty()) return;
  Nearby own;
  std::ranges::copy_if(nearby.failing, std::back_inserter(own.failing), [&](const Observation& one) { return is_healed(one.test_case); });
  own.passing = nearby.passing;
  own.elsewhere = nearby.elsewhere;
  classify_by_repair(laboratory, own, blamed, healed, passed, classification);
}

void say_second(const Blame& blamed, Classification& classification) {
  if (blamed.left_kind.empty() || classification.kind == mistake::kUnknown || classification.kind == blamed.left_kind) return;
  classification.says = fmt::format("two mistakes at once: {}; and ({}) {}", classification.says, blamed.left_kind, blamed.left_says);
}

}  // namespace assay::harness
