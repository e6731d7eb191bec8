// Decides which known mistake an output shows.
#include "harness/triage/classify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "harness/triage/nan_birth.h"
#include "harness/triage/permutation.h"

namespace assay::harness {
namespace {

// A fit that explains less than this of the error, and fully explains no case, names no class.
constexpr double kPoor = 0.7;
constexpr double kGood = 0.9;
constexpr double kHalfOfCases = 0.5;

// Whether cases that pass would fail if the mistake were made: with a number that was fitted to the failing ones, or, where the wrong
// output says nothing because it is 0 or no number, at all. A number that is fitted to each case contradicts itself.
bool is_contradicted(const Fit& fit, bool says_nothing) {
  if (fit.is_arbitrary && fit.varies) return true;
  return (fit.is_arbitrary || says_nothing) && fit.has_passing && fit.predicted < kHalfOfCases;
}

struct Faults {
  std::size_t faulty = 0, unwritten = 0;
  std::size_t telling_nothing = 0;  // not finite, or 0
};

Faults count_faults(std::span<const Observation> failing) {
  Faults faults;
  for (const Observation& observation : failing) {
    for (std::size_t i = 0; i < observation.actual.size(); ++i) {
      if (!observation.is_faulty(i)) continue;
      ++faults.faulty;
      if (is_unwritten(observation.actual[i])) {
        ++faults.unwritten;
      } else if (!std::isfinite(observation.actual[i]) || observation.actual[i] == 0.0) {
        ++faults.telling_nothing;
      }
    }
  }
  return faults;
}

bool is_race_kind(metal::HazardKind kind) {
  using enum metal::HazardKind;
  return kind == threadgroup_race || kind == unfenced_barrier || kind == simdgroup_race;
}

// The fixture about roundings of which all failing cases are, and no passing one; nullptr if there is none.
const fixtures::Fixture* rounding_fixture(std::span<const Observation> failing, std::span<const Observation> passing) {
  if (failing.empty()) return nullptr;
  const std::string& name = failing.front().test_case.fixture;
  const auto is_of_it = [&](const Observation& observation) { return observation.test_case.fixture == name; };
  if (!std::ranges::all_of(failing, is_of_it) || std::ranges::any_of(passing, is_of_it)) return nullptr;
  const std::span<const fixtures::Fixture> all = fixtures::all_fixtures();
  const auto found = std::ranges::find(all, name, &fixtures::Fixture::name);
  return found != all.end() && found->catches.find("rounded") != std::string_view::npos ? &*found : nullptr;
}

bool is_divergence(metal::HazardKind kind) { return kind == metal::HazardKind::barrier_divergence; }

const metal::Hazard* find(const Evidence& evidence, bool (*of)(metal::HazardKind)) {
  const auto found = std::ranges::find_if(evidence.hazards, [&](const metal::Hazard& hazard) { return of(hazard.kind); });
  return found == evidence.hazards.end() ? nullptr : &*found;
}

void decide(Classification& result, std::string_view kind, std::string says, Decided decided) {
  result.kind = kind;
  result.says = std::move(says);
  result.decided = std::move(decided);
  result.goodness = 1;
}

void take_fit(Classification& result, const Fit& fit) {
  result.kind = fit.kind;
  result.says = fit.says;
  result.goodness = fit.goodness;
  result.decided = decided::BestFit{fit.goodness};
}

// Whether a promise that the smallest case breaks shows the mistake.
bool take_promise(Classification& result, const Evidence& evidence, families::Explains explains, bool is_output_right) {
  for (const Fault& fault : evidence.faults) {
    const auto* broken = fault.as<fault::BrokenPromise>();
    if (broken == nullptr) continue;
    const families::Promise& promise = families::promise_of(*broken);
    if (promise.mistake == nullptr || promise.explains != explains) continue;
    const std::optional<families::PromiseMistake> shown = promise.mistake(*broken, is_output_right);
    if (!shown) continue;
    decide(result, shown->kind, std::string(shown->says), evidence.faults);
    return true;
  }
  return false;
}

}  // namespace

// Long because it is a list of decisions, of which the first that applies counts.
Classification classify(std::span<const Observation> failing, std::span<const Observation> passing, const Evidence& evidence,
                        const fixtures::Shelf& shelf) {
  using enum metal::HazardKind;
  Classification result;
  const Faults faults = count_faults(failing);
  const auto breaks_promise = [&](families::Explains explains) { return take_promise(result, evidence, explains, faults.faulty == 0); };

  const auto is_mistrusted = [](const Fault& fault) { return fault.kind() == FaultKind::mistrusted; };
  if (!evidence.faults.empty() && std::ranges::all_of(evidence.faults, is_mistrusted)) {
    decide(result, mistake::kUnknown, "no element is wrong, but its bound is too wide to tell: state the accuracy of the kernel",
           evidence.faults);
    return result;
  }
  // Accesses that a barrier should separate race after threads have missed it.
  if (const metal::Hazard* divergence = find(evidence, is_divergence)) {
    decide(result, mistake::kDivergence, "some threads of a threadgroup do not reach a barrier that others wait at", *divergence);
    return result;
  }
  const metal::Hazard* race = find(evidence, is_race_kind);
  if (race != nullptr || evidence.depends_on_order) {
    decide(result, mistake::kBarrier, std::string(kMissingBarrier), race != nullptr ? Decided(*race) : Decided(decided::OrderDependence{}));
    return result;
  }
  const metal::Hazard* narrow = find(evidence, [](metal::HazardKind kind) { return kind == lost_index_bits; });
  const metal::Hazard* unset = find(evidence, [](metal::HazardKind kind) { return kind == uninitialised_read; });
  // Constants are compared without a run, and no rounding excuses them.
  for (const Fault& fault : evidence.faults) {
    const auto* table = fault.as<fault::WrongTable>();
    if (table == nullptr) continue;
    const bool is_of_signs = table->meaning.find("sign") != std::string::npos;
    decide(result, is_of_signs ? mistake::kSigns : mistake::kCodebook, "a table of constants differs from the contract's", evidence.faults);
    return result;
  }
  // NaN fit any factor and any lost key, and so do zeros, but here their source is known.
  if (unset != nullptr && faults.telling_nothing * 2 > faults.faulty) {
    decide(result, mistake::kUninitialised, "uninitialised memory is read", *unset);
    return result;
  }
  const metal::Hazard* outside = find(evidence, [](metal::HazardKind kind) { return kind == out_of_bounds || kind == invalid_access; });
  if (outside != nullptr && faults.telling_nothing * 2 > faults.faulty) {
    decide(result, mistake::kBounds, "memory outside of the kernel's buffers is accessed", *outside);
    return result;
  }
  if (faults.unwritten < faults.faulty) result.fits = fits_of(failing, passing, shelf);
  const bool says_nothing = faults.telling_nothing == faults.faulty;
  const auto is_possible = [&](const Fit& fit) { return !is_contradicted(fit, says_nothing); };
  // A number fitted to the error says little unless it explains whole cases.
  const auto is_telling = [&](const Fit& fit) {
    return fit.kind != mistake::kUnknown && is_possible(fit) && (!fit.is_arbitrary || fit.exact >= kHalfOfCases);
  };
  const auto named = std::ranges::find_if(result.fits, is_telling);
  const Fit* best = nullptr;
  if (!result.fits.empty()) best = says_nothing && named != result.fits.end() ? &*named : &result.fits.front();
  const bool is_exact = best != nullptr && best->exact > 0.95 && best->goodness > kGood && is_possible(*best);
  // NaN fit whatever may leave nothing, unless that also tells the cases that pass.
  const bool is_quotient = evidence.nan_birth && formula_of(*evidence.nan_birth).find('/') != std::string::npos;
  const bool tells_right =
      is_exact && !best->is_pair && best->has_passing && best->predicted > kGood && (is_quotient || !best->assumes_nan);
  if (evidence.nan_birth && is_of_nothing(*evidence.nan_birth) && says_nothing && !tells_right) {
    const auto of_nothing = std::ranges::find(result.fits, mistake::kEmptyMerge, &Fit::kind);
    const bool is_known = of_nothing != result.fits.end() && of_nothing->goodness > kGood;
    decide(result, mistake::kEmptyMerge,
           is_known ? of_nothing->says : fmt::format("the first NaN is that of {}", formula_of(*evidence.nan_birth)), *evidence.nan_birth);
    return result;
  }
  if (is_exact) {
    take_fit(result, *best);
    return result;
  }
  // A known mistake that explains all of the error but roundings says more than the order in which it leaves the output.
  constexpr double nearly_all = 0.999;
  const bool is_known = best != nullptr && !best->is_arbitrary && best->goodness > nearly_all && best->exact >= kHalfOfCases &&
                        best->predicted > kGood && is_possible(*best);
  if (faults.faulty > 0 && faults.unwritten == 0 && !is_known) {
    if (const std::optional<std::string> permuted = find_permutation(failing)) {
      decide(result, mistake::kLayout, *permuted, evidence.faults);
      return result;
    }
  }
  // Classes that only mean that the table has no name for the mistake do not count as named.
  if (outside != nullptr) {
    decide(result, mistake::kBounds, "memory outside of the kernel's buffers is accessed", *outside);
    return result;
  }
  if (breaks_promise(families::Explains::guards)) return result;
  if (has_kind(evidence.faults, FaultKind::guard_written)) {
    decide(result, mistake::kBounds, "the kernel writes outside of its outputs", evidence.faults);
    return result;
  }
  if (unset != nullptr) {
    decide(result, mistake::kUninitialised, "uninitialised memory is read", *unset);
    return result;
  }
  if (breaks_promise(families::Explains::unwritten)) return result;
  if (faults.faulty > 0 && faults.unwritten * 2 > faults.faulty) {
    decide(result, mistake::kNotWritten, "output elements are never written", decided::NeverWritten{faults.unwritten, faults.faulty});
    return result;
  }
  if (breaks_promise(families::Explains::rough_fit)) return result;
  if (best != nullptr && best->goodness > kGood && is_telling(*best)) {
    take_fit(result, *best);
    return result;
  }
  constexpr double mostly = 0.25;
  if (evidence.rounding && evidence.logic && *evidence.logic < mostly * *evidence.rounding && std::isfinite(*evidence.rounding)) {
    const decided::Precision precision{*evidence.rounding, *evidence.logic};
    if (const fixtures::Fixture* about = rounding_fixture(failing, passing)) {
      decide(result, mistake::kRounding, fmt::format("only cases of fixture {} fail, which catches {}", about->name, about->catches),
             precision);
    } else {
      decide(result, mistake::kHalf, "the formula is right, but the precision is too low", precision);
    }
    return result;
  }
  if (narrow != nullptr) {
    decide(result, mistake::kNarrow, "an index is kept in a type that is too short for it", *narrow);
    return result;
  }
  // Two mistakes at once explain some case sooner than one does.
  if (named != result.fits.end() && (named->goodness > kPoor || (named->exact > 0.0 && !named->is_pair))) take_fit(result, *named);
  if (result.kind == mistake::kUnknown) result.decided = decided::NoFit{};
  return result;
}

}  // namespace assay::harness
