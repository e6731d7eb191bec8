// Fits the predictions of known mistakes to wrong outputs, and selects the best explanation.
#include "harness/triage/classify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "harness/cases/case_data.h"
#include "harness/triage/ordered.h"
#include "math/functions.h"

namespace assay::harness {
namespace {

// Number of cases for a first selection; only the best fits are tried on all cases.
constexpr std::size_t kFirstCases = 3;
constexpr std::size_t kFinalists = 24;
// A fit that explains less than this is discarded.
constexpr double kPoor = 0.5;
constexpr double kGood = 0.9;
// A kernel with a mistake has the rounding errors of the mistaken values: the bound of the judge, with room for other
// orders of operations.
constexpr double kRoom = 4.0;

using families::Mistake;

struct Specimen {
  const Observation* observation;
  std::shared_ptr<const families::Model> model;
};

std::shared_ptr<const families::Model> model_of(const Case& test_case, const fixtures::Shelf& shelf) {
  return test_case.family->triage.model(test_case, CaseSource(test_case, shelf).get());
}

double square(double x) { return x * x; }

double root_mean_square(std::span<const double> values) {
  double sum = 0;
  std::size_t count = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    sum += value * value;
    ++count;
  }
  return count == 0 ? 0.0 : std::sqrt(sum / static_cast<double>(count));
}

// The best factor of a mistake on one case.
double find_factor(const Mistake& mistake, const Specimen& specimen, std::optional<double> known) {
  // If no factor explains anything yet, the one with the smallest remaining error is the nearest.
  const auto part = [&](double factor) {
    return -explained_by(*specimen.observation, mistake.predict(*specimen.model, factor), factor != 0.0).left;
  };
  constexpr double nearly_nothing = 4e-4;
  if (known && part(*known) > -nearly_nothing) return *known;
  double best = 1;
  double best_part = part(1.0);
  for (const double factor : mistake.factors(*specimen.model)) {
    const double of_factor = part(factor);
    if (of_factor > best_part) {
      best = factor;
      best_part = of_factor;
    }
  }
  if (best == 0.0 || best_part > -1e-6) return best;
  // Golden-section search over the logarithm.
  constexpr double ratio = 0.6180339887498949;
  constexpr int steps = 22;
  double low = -0.8;
  double high = 0.8;
  const auto at = [&](double x) { return part(best * math::exp(x)); };
  double x1 = high - ratio * (high - low);
  double x2 = low + ratio * (high - low);
  double f1 = at(x1);
  double f2 = at(x2);
  for (int step = 0; step < steps; ++step) {
    if (f1 > f2) {
      high = x2;
      x2 = x1;
      f2 = f1;
      x1 = high - ratio * (high - low);
      f1 = at(x1);
    } else {
      low = x1;
      x1 = x2;
      f1 = f2;
      x2 = low + ratio * (high - low);
      f2 = at(x2);
    }
  }
  const double found = best * math::exp((low + high) / 2);
  return part(found) > best_part ? found : best;
}

bool shows_nothing(const Observation& observation, std::span<const double> prediction) {
  for (std::size_t i = 0; i < prediction.size(); ++i) {
    if (!(std::abs(prediction[i] - observation.expected.value[i]) <= 2.0 * observation.expected.bound[i])) return false;
  }
  return true;
}

struct Candidate {
  const Mistake* mistake = nullptr;
  std::vector<double> parts;
  std::size_t exact = 0, predicted = 0, passing = 0;
  std::optional<double> factor;  // for the first case
  bool factor_varies = false;    // whether other cases need another factor

  [[nodiscard]] double goodness() const {
    double sum = 0;
    for (const double part : parts) sum += part;
    return parts.empty() ? 0.0 : sum / static_cast<double>(parts.size());
  }
  [[nodiscard]] double exact_part() const { return parts.empty() ? 0.0 : static_cast<double>(exact) / static_cast<double>(parts.size()); }
  [[nodiscard]] double predicted_part() const { return passing == 0 ? 1.0 : static_cast<double>(predicted) / static_cast<double>(passing); }
  // An output that is explained within its bounds counts most. Among such fits, the effect that the mistake would have on passing cases
  // counts, then the number of assumptions.
  [[nodiscard]] double score() const {
    constexpr double of_exact = 0.3;
    constexpr double of_passing = 0.2;
    constexpr double of_rank = 0.005;
    constexpr double of_factor = 0.02;
    constexpr double of_many_factors = 0.2;  // a number fitted to each case explains much without being the cause
    const double assumed = !factor ? 0.0 : factor_varies ? of_many_factors : of_factor;
    return goodness() + of_exact * exact_part() + of_passing * predicted_part() - of_rank * mistake->rank - assumed;
  }
};

void try_on(Candidate& candidate, const Specimen& specimen) {
  const Mistake& mistake = *candidate.mistake;
  double factor = 1;
  if (mistake.factors) {
    factor = find_factor(mistake, specimen, candidate.factor);
    if (!candidate.factor) candidate.factor = factor;
    constexpr double same = 1e-3;
    if (std::abs(factor - *candidate.factor) > same * std::abs(factor)) candidate.factor_varies = true;
  }
  const Explained explained = explained_by(*specimen.observation, mistake.predict(*specimen.model, factor), factor != 0.0);
  candidate.parts.push_back(explained.part);
  candidate.exact += explained.exact ? 1U : 0U;
}

Fit fit_of(const Candidate& candidate) {
  Fit fit{.kind = candidate.mistake->kind,
          .says = candidate.factor ? fmt::format(fmt::runtime(candidate.mistake->says), fmt::format("{:.6g}", *candidate.factor))
                                   : candidate.mistake->says,
          .goodness = candidate.goodness(),
          .exact = candidate.exact_part(),
          .has_passing = candidate.passing != 0,
          .predicted = candidate.predicted_part(),
          .score = candidate.score()};
  return fit;
}

struct Faults {
  std::size_t faulty = 0, unwritten = 0, not_a_number = 0;
};

Faults count_faults(std::span<const Observation> failing) {
  Faults faults;
  for (const Observation& observation : failing) {
    for (std::size_t i = 0; i < observation.actual.size(); ++i) {
      if (!observation.is_faulty(i)) continue;
      ++faults.faulty;
      if (is_unwritten(observation.actual[i])) {
        ++faults.unwritten;
      } else if (!std::isfinite(observation.actual[i])) {
        ++faults.not_a_number;
      }
    }
  }
  return faults;
}

std::vector<Fit> fits_of(std::span<const Observation> failing, std::span<const Observation> passing, const fixtures::Shelf& shelf) {
  std::vector<Specimen> wrong;
  for (const Observation& observation : failing) {
    if (count_faults(std::span(&observation, 1)).faulty == 0) continue;  // its output is right; it fails for another reason
    wrong.push_back({&observation, model_of(observation.test_case, shelf)});
  }
  if (wrong.empty()) return {};
  std::vector<Candidate> candidates;
  const std::size_t first = std::min(kFirstCases, wrong.size());
  const families::TriageRules& rules = failing.front().test_case.family->triage;
  std::vector<Mistake> mistakes = rules.mistakes();
  for (const Specimen& specimen : wrong) {
    const std::vector<double> codebook = specimen.model->learn_codebook(specimen.observation->actual);
    if (codebook.empty()) continue;
    std::ranges::move(rules.codebook_mistakes(codebook), std::back_inserter(mistakes));
    break;
  }
  for (const Mistake& mistake : mistakes) {
    Candidate candidate;
    candidate.mistake = &mistake;
    for (std::size_t i = 0; i < first; ++i) try_on(candidate, wrong[i]);
    candidates.push_back(std::move(candidate));
  }
  order_by(candidates, [](const Candidate& candidate) { return -candidate.score(); });
  candidates.resize(std::min(candidates.size(), kFinalists));
  std::vector<Specimen> right;
  for (const Observation& observation : passing) right.push_back({&observation, model_of(observation.test_case, shelf)});
  for (Candidate& candidate : candidates) {
    for (std::size_t i = first; i < wrong.size(); ++i) try_on(candidate, wrong[i]);
    for (const Specimen& specimen : right) {
      ++candidate.passing;
      const std::vector<double> prediction = candidate.mistake->predict(*specimen.model, candidate.factor.value_or(1.0));
      if (shows_nothing(*specimen.observation, prediction)) ++candidate.predicted;
    }
  }
  order_by(candidates, [](const Candidate& candidate) { return -candidate.score(); });
  std::vector<Fit> best;
  constexpr std::size_t most = 3;
  for (const Candidate& candidate : candidates) {
    const bool is_known = std::ranges::any_of(best, [&](const Fit& fit) { return fit.kind == candidate.mistake->kind; });
    if (!is_known && candidate.goodness() > 0.0) best.push_back(fit_of(candidate));
    if (best.size() == most) break;
  }
  return best;
}

bool is_race(metal::HazardKind kind) {
  using enum metal::HazardKind;
  return kind == threadgroup_race || kind == unfenced_barrier || kind == simdgroup_race || kind == barrier_divergence;
}

const metal::Hazard* find(const Evidence& evidence, bool (*of)(metal::HazardKind)) {
  const auto found = std::ranges::find_if(evidence.hazards, [&](const metal::Hazard& hazard) { return of(hazard.kind); });
  return found == evidence.hazards.end() ? nullptr : &*found;
}

void decide(Classification& result, std::string_view kind, std::string_view says, Decided decided) {
  result.kind = kind;
  result.says = says;
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
    decide(result, shown->kind, shown->says, evidence.faults);
    return true;
  }
  return false;
}

}  // namespace

Explained explained_by(const Observation& observation, std::span<const double> prediction, bool zero_may_be_nan) {
  if (prediction.size() != observation.actual.size()) return {};
  const std::size_t length = std::max<std::size_t>(observation.verdict.row_length, 1);
  double unexplained = 0;
  double left_over = 0;
  std::size_t rows = 0;
  std::size_t faulty = 0;
  std::size_t matched = 0;
  for (std::size_t start = 0; start < prediction.size(); start += length) {
    const std::size_t end = std::min(start + length, prediction.size());
    const double size = root_mean_square(std::span(observation.expected.value).subspan(start, end - start));
    const double mistaken_size = root_mean_square(prediction.subspan(start, end - start));
    const double room = kRoom * (size > 0.0 ? std::max(1.0, mistaken_size / size) : 1.0);
    double error = 0;
    double left = 0;
    std::size_t odd = 0;
    std::size_t odd_missed = 0;
    bool any = false;
    for (std::size_t i = start; i < end; ++i) {
      if (!observation.is_faulty(i)) continue;
      any = true;
      ++faulty;
      const double actual = observation.actual[i];
      if (!std::isfinite(actual)) {
        ++odd;
        const bool is_match = !is_unwritten(actual) && (!std::isfinite(prediction[i]) || (zero_may_be_nan && mistaken_size == 0.0));
        matched += is_match ? 1U : 0U;
        odd_missed += is_match ? 0U : 1U;
        continue;
      }
      const double difference = std::isfinite(prediction[i]) ? actual - prediction[i] : actual - observation.expected.value[i];
      error += square(actual - observation.expected.value[i]);
      left += square(difference);
      if (std::abs(difference) <= room * observation.expected.bound[i]) ++matched;
    }
    if (!any) continue;
    ++rows;
    const double of_numbers = error > 0.0 ? left / error : 0.0;
    const double of_odd = odd == 0 ? 0.0 : static_cast<double>(odd_missed) / static_cast<double>(odd);
    unexplained += std::min(1.0, std::max(of_numbers, of_odd));
    left_over += std::max(of_numbers, of_odd);
  }
  if (rows == 0) return {};
  constexpr double nearly_all = 0.98;
  return {.part = 1.0 - std::sqrt(unexplained / static_cast<double>(rows)),
          .left = left_over / static_cast<double>(rows),
          .exact = static_cast<double>(matched) >= nearly_all * static_cast<double>(faulty)};
}

// Long because it is a list of decisions, of which the first that applies counts.
Classification classify(std::span<const Observation> failing, std::span<const Observation> passing, const Evidence& evidence,
                        const fixtures::Shelf& shelf) {
  using enum metal::HazardKind;
  Classification result;
  const Faults faults = count_faults(failing);
  const auto breaks_promise = [&](families::Explains explains) { return take_promise(result, evidence, explains, faults.faulty == 0); };

  const metal::Hazard* race = find(evidence, is_race);
  if (race != nullptr || evidence.depends_on_order) {
    decide(result, mistake::kBarrier, "simdgroups access shared memory without a barrier between them",
           race != nullptr ? Decided(*race) : Decided(decided::OrderDependence{}));
    return result;
  }
  const metal::Hazard* unset = find(evidence, [](metal::HazardKind kind) { return kind == uninitialised_read; });
  // NaN fit any factor and any lost key, but here their source is known.
  if (unset != nullptr && faults.not_a_number * 2 > faults.faulty) {
    decide(result, mistake::kUninitialised, "uninitialised memory is read", *unset);
    return result;
  }
  if (faults.unwritten < faults.faulty) result.fits = fits_of(failing, passing, shelf);
  // Classes that only mean that the table has no name for the mistake do not count as named.
  const auto named = std::ranges::find_if(result.fits, [](const Fit& fit) { return fit.kind != mistake::kUnknown; });
  const Fit* best = result.fits.empty() ? nullptr : &result.fits.front();
  const bool is_exact = best != nullptr && best->exact > 0.95 && best->goodness > kGood;
  if (is_exact) {
    take_fit(result, *best);
    return result;
  }
  if (const auto* hazard = find(evidence, [](metal::HazardKind kind) { return kind == out_of_bounds || kind == invalid_access; })) {
    decide(result, mistake::kBounds, "memory outside of the kernel's buffers is accessed", *hazard);
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
  if (best != nullptr && best->goodness > kGood) {
    take_fit(result, *best);
    return result;
  }
  constexpr double mostly = 0.25;
  if (evidence.rounding && evidence.logic && *evidence.logic < mostly * *evidence.rounding && *evidence.rounding > 0.0) {
    decide(result, mistake::kHalf, "the formula is right, but the precision is too low",
           decided::Precision{*evidence.rounding, *evidence.logic});
    return result;
  }
  if (named != result.fits.end() && named->goodness > kPoor) take_fit(result, *named);
  if (result.kind == mistake::kUnknown) result.decided = decided::NoFit{};
  return result;
}

}  // namespace assay::harness
