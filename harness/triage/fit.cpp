// Fits the predictions of known mistakes to wrong outputs.
#include "harness/triage/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

#include "families/mistakes.h"
#include "harness/cases/case_size.h"
#include "harness/triage/named_factor.h"
#include "harness/triage/ordered.h"
#include "harness/triage/specimen.h"
#include "math/functions.h"

namespace assay::harness {
namespace {

// Number of cases for a first selection; only the best fits are tried on all cases.
constexpr std::size_t kFirstCases = 3;
constexpr std::size_t kFinalists = 24;
// With larger cases, pairs take seconds for each of the few times that a class is decided.
constexpr double kLargestOfPairs = 3e5;
// A kernel with a mistake has the rounding errors of the mistaken values: the bound of the judge, with room for other
// orders of operations.
constexpr double kRoom = 4.0;

using families::Mistake;

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
  const Mistake* second = nullptr;  // made at the same time; null: none
  double second_factor = 1;
  std::vector<double> parts;
  std::size_t exact = 0, predicted = 0, passing = 0;
  std::optional<double> factor;  // for the first case
  bool assumes_nan = false;
  bool factor_varies = false;  // whether other cases need another factor

  void forget_cases() {
    parts.clear();
    exact = 0;
    assumes_nan = false;
  }
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
    constexpr double of_second = 0.1;
    constexpr double of_nan = 0.05;
    double assumed = !factor ? 0.0 : factor_varies ? of_many_factors : of_factor;
    if (second != nullptr) assumed += of_second;
    if (assumes_nan) assumed += of_nan;
    return goodness() + of_exact * exact_part() + of_passing * predicted_part() - of_rank * mistake->rank - assumed;
  }
  [[nodiscard]] std::vector<double> predict(const families::Model& model, double own_factor) const {
    return second == nullptr ? mistake->predict(model, own_factor) : mistake->predict_both(model, own_factor, *second, second_factor);
  }
};

void try_on(Candidate& candidate, const Specimen& specimen) {
  const Mistake& mistake = *candidate.mistake;
  double factor = 1;
  if (mistake.factors && candidate.second != nullptr) {
    factor = candidate.factor.value_or(1.0);
  } else if (mistake.factors) {
    factor = find_factor(mistake, specimen, candidate.factor);
    if (!candidate.factor) candidate.factor = factor;
    constexpr double same = 1e-3;
    if (std::abs(factor - *candidate.factor) > same * std::abs(factor)) candidate.factor_varies = true;
  }
  const Explained explained = explained_by(*specimen.observation, candidate.predict(*specimen.model, factor), factor != 0.0);
  candidate.parts.push_back(explained.part);
  candidate.exact += explained.exact ? 1U : 0U;
  candidate.assumes_nan = candidate.assumes_nan || explained.assumes_nan;
}

std::string says(const Mistake& mistake, std::optional<double> factor, std::span<const double> row_lengths) {
  if (!mistake.factors) return mistake.says;
  return fmt::format(fmt::runtime(mistake.says), named_factor(factor.value_or(1.0), row_lengths));
}

Fit fit_of(const Candidate& candidate, std::span<const double> row_lengths) {
  std::string text = says(*candidate.mistake, candidate.factor, row_lengths);
  if (candidate.second != nullptr)
    text = fmt::format("two mistakes at once: {}; and ({}) {}", text, candidate.second->kind,
                       says(*candidate.second, candidate.second_factor, row_lengths));
  const bool is_arbitrary = candidate.mistake->factors && text.find(" = ") == std::string::npos;
  return {.kind = candidate.mistake->kind,
          .says = std::move(text),
          .goodness = candidate.goodness(),
          .exact = candidate.exact_part(),
          .has_passing = candidate.passing != 0,
          .predicted = candidate.predicted_part(),
          .score = candidate.score(),
          .is_pair = candidate.second != nullptr,
          .is_arbitrary = is_arbitrary,
          .varies = candidate.factor_varies,
          .assumes_nan = candidate.assumes_nan};
}

bool has_faulty_element(const Observation& observation) {
  for (std::size_t i = 0; i < observation.actual.size(); ++i) {
    if (observation.is_faulty(i)) return true;
  }
  return false;
}

bool is_explanation(const Candidate& candidate) {
  constexpr double good = 0.9;
  constexpr double nearly_all = 0.95;
  return candidate.goodness() > good && candidate.exact_part() > nearly_all;
}

// Each of the best candidates together with another mistake, the likely ones first, until two explain everything or the time is over.
std::vector<Candidate> pairs_of(std::span<const Candidate> candidates, std::span<const Specimen> wrong) {
  constexpr std::size_t most_first = 6;
  constexpr std::chrono::duration<double> patience = std::chrono::seconds(3);
  const auto start = std::chrono::steady_clock::now();
  const std::size_t cases = std::min(kFirstCases, wrong.size());
  std::vector<Candidate> pairs;
  if (cases == 0) return pairs;
  for (const Candidate& first : candidates.first(std::min(most_first, candidates.size()))) {
    for (const Candidate& other : candidates) {
      if (other.mistake == first.mistake || first.mistake->kind == other.mistake->kind || !first.mistake->predict_both) continue;
      if (std::chrono::steady_clock::now() - start > patience) return pairs;
      std::vector<double> factors = {1.0};
      if (other.mistake->factors) factors = other.mistake->factors(*wrong.front().model);
      for (const double factor : factors) {
        Candidate both = first;
        both.second = other.mistake;
        both.second_factor = factor;
        both.forget_cases();
        for (std::size_t i = 0; i < cases; ++i) {
          try_on(both, wrong[i]);
          if (i == 0 && both.goodness() < first.goodness()) break;
        }
        if (both.parts.size() < cases || both.goodness() <= first.goodness()) continue;
        pairs.push_back(both);
        if (is_explanation(both)) return pairs;
      }
    }
  }
  return pairs;
}

// Pairs that the small ones of the cases tell, tried on the first cases.
std::vector<Candidate> pairs_on(std::span<const Candidate> candidates, std::span<const Specimen> wrong, std::size_t first) {
  std::vector<Specimen> small;
  std::ranges::copy_if(wrong, std::back_inserter(small),
                       [](const Specimen& specimen) { return size_of(specimen.observation->test_case) <= kLargestOfPairs; });
  std::vector<Candidate> pairs = pairs_of(candidates, small);
  order_by(pairs, [](const Candidate& pair) { return -pair.score(); });
  pairs.resize(std::min(pairs.size(), kFinalists));
  for (Candidate& pair : pairs) {
    pair.forget_cases();
    for (const Specimen& specimen : wrong.first(first)) try_on(pair, specimen);
  }
  return pairs;
}

}  // namespace

std::vector<Fit> fits_of(std::span<const Observation> failing, std::span<const Observation> passing, const fixtures::Shelf& shelf,
                         Pairs pairs) {
  std::vector<Specimen> wrong;
  for (const Observation& observation : failing) {
    if (!has_faulty_element(observation)) continue;  // its output is right; it fails for another reason
    Specimen specimen = wrong_specimen_of(observation, shelf);
    if (specimen.model != nullptr) wrong.push_back(std::move(specimen));
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
  const auto by_score = [](const Candidate& candidate) { return -candidate.score(); };
  order_by(candidates, by_score);
  if (pairs == Pairs::if_needed && std::ranges::none_of(candidates, is_explanation)) {
    std::ranges::move(pairs_on(candidates, wrong, first), std::back_inserter(candidates));
    order_by(candidates, by_score);
  }
  candidates.resize(std::min(candidates.size(), kFinalists));
  std::vector<Specimen> right;
  for (const Observation& observation : passing) {
    Specimen specimen = specimen_of(observation, shelf);
    if (specimen.model != nullptr) right.push_back(std::move(specimen));
  }
  for (Candidate& candidate : candidates) {
    for (std::size_t i = first; i < wrong.size(); ++i) try_on(candidate, wrong[i]);
    // What explains nothing is not reported.
    for (const Specimen& specimen : candidate.goodness() > 0.0 ? std::span<const Specimen>(right) : std::span<const Specimen>()) {
      ++candidate.passing;
      const std::vector<double> prediction = candidate.predict(*specimen.model, candidate.factor.value_or(1.0));
      if (shows_nothing(*specimen.observation, prediction)) ++candidate.predicted;
    }
  }
  order_by(candidates, by_score);
  std::vector<Fit> best;
  constexpr std::size_t most = 3;
  for (const Candidate& candidate : candidates) {
    const bool is_known = std::ranges::any_of(best, [&](const Fit& fit) { return fit.kind == candidate.mistake->kind; });
    if (!is_known && candidate.goodness() > 0.0) best.push_back(fit_of(candidate, wrong.front().model->row_lengths()));
    if (best.size() == most) break;
  }
  return best;
}

bool leaves_right(const Fit& fit, const Observation& observation, const fixtures::Shelf& shelf) {
  const std::vector<Mistake> mistakes = observation.test_case.family->triage.mistakes();
  const auto is_of_fit = [&](const Mistake& one) { return !one.factors && one.kind == fit.kind && one.says == fit.says; };
  const auto found = std::ranges::find_if(mistakes, is_of_fit);
  if (found == mistakes.end()) return false;
  const Specimen specimen = specimen_of(observation, shelf);
  return specimen.model != nullptr && shows_nothing(observation, found->predict(*specimen.model, 1.0));
}

Explained explained_by(const Observation& observation, std::span<const double> prediction, bool zero_may_be_nan) {
  if (prediction.size() != observation.actual.size()) return {};
  const std::size_t length = std::max<std::size_t>(observation.verdict.row_length, 1);
  double unexplained = 0;
  double left_over = 0;
  std::size_t rows = 0;
  std::size_t faulty = 0;
  std::size_t matched = 0;
  bool assumes_nan = false;
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
        // Where the exact row is zero too, the mistake predicts nothing.
        const bool is_assumed = std::isfinite(prediction[i]) && zero_may_be_nan && mistaken_size == 0.0 && size > 0.0;
        const bool is_match = !is_unwritten(actual) && (!std::isfinite(prediction[i]) || is_assumed);
        assumes_nan = assumes_nan || (is_match && is_assumed);
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
          .exact = static_cast<double>(matched) >= nearly_all * static_cast<double>(faulty),
          .assumes_nan = assumes_nan};
}

}  // namespace assay::harness
