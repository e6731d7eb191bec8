// Compares what lines hold with landmarks times a factor.
#include "harness/triage/landmark_factors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "harness/triage/common_factor.h"
#include "harness/triage/named_factor.h"
#include "math/functions.h"

namespace assay::harness {

using families::LandmarkFactor;

bool LandmarkFactors::describe_factor(std::size_t wrong, LandmarkFinding& finding) const {
  const Landmark& landmark = landmarks_.list[wrong];
  for (const LandmarkFactor& fault : landmark.faults) {
    for (std::size_t place = 0; place < sightings_.places().size(); ++place) {
      bool fits = sightings_.places()[place].is_own && !(holds_needed(wrong, place) && is_added_to(wrong));
      std::size_t elements = 0;
      for (std::size_t row = 0; row < landmarks_.rows.size() && fits; ++row) {
        const ElementList telling = telling_elements(landmark.elements, row);
        elements += telling.size();
        fits = telling.empty() || (!sightings_.places()[place].is_input &&
                                   cover(numbers_[row][place], telling, fault.value, match_.tolerance_of(place)).held == telling.size());
      }
      if (!fits || elements < 2) continue;
      take_factor(finding, place);
      finding.is_left_out = fault.is_missing;
      finding.sentence = fmt::format("the {} here are {:.6g} times what they should be ({}){}", plural(landmark), fault.value, fault.name,
                                     right_before(wrong));
      return true;
    }
  }
  return !landmark.is_loaded && describe_any_factor(wrong, finding);
}

void LandmarkFactors::take_factor(LandmarkFinding& finding, std::size_t place) const {
  constexpr double much = 0.8;
  finding.line = sightings_.places()[place].line;
  finding.confidence = much;
  finding.has_factor = true;
}

bool LandmarkFactors::describe_any_factor(std::size_t wrong, LandmarkFinding& finding) const {
  const Landmark& landmark = landmarks_.list[wrong];
  for (std::size_t place = 0; place < sightings_.places().size(); ++place) {
    if (!sightings_.places()[place].is_own || sightings_.places()[place].is_input || holds_needed(wrong, place)) continue;
    std::vector<std::pair<std::size_t, double>> factors;  // by row
    bool fits = true;
    for (std::size_t row = 0; row < landmarks_.rows.size() && fits; ++row) {
      const ElementList telling = telling_elements(landmark.elements, row);
      if (telling.empty()) continue;
      const std::optional<double> factor = common_factor(numbers_[row][place], telling, match_.tolerance_of(place));
      fits = factor.has_value();
      if (fits) factors.emplace_back(row, *factor);
    }
    if (!fits || factors.empty()) continue;
    if (!landmark.maxima.empty()) return describe_maximum(wrong, place, factors, finding);
    const double factor = factors.front().second;
    constexpr double same = 1e-3;
    if (!std::ranges::all_of(factors, [&](const auto& one) { return std::abs(one.second - factor) <= same * std::abs(factor); })) continue;
    // Where what kernels may do without is the same for all keys, anything else is it times a factor.
    if (landmark.is_optional && !is_usual(factor)) continue;
    take_factor(finding, place);
    finding.sentence = fmt::format("the {} here are {} times what they should be{}", plural(landmark),
                                   named_factor(without_own(landmark, factor), {}), right_before(wrong));
    return true;
  }
  return false;
}

bool LandmarkFactors::is_usual(double factor) {
  constexpr double largest = 1024, same = 1e-3;
  if (factor <= 0) return false;
  const double whole = factor < 1 ? 1 / factor : factor;
  const bool is_integer = whole <= largest && std::abs(whole - std::round(whole)) <= same;
  return is_integer || named_factor(factor, {}).find('=') != std::string::npos;
}

double LandmarkFactors::without_own(const Landmark& landmark, double factor) {
  double least = factor;
  for (const LandmarkFactor& own : landmark.factors) {
    const double left = factor / own.value;
    if (std::abs(math::log(std::abs(left))) < std::abs(math::log(std::abs(least)))) least = left;
  }
  return least;
}

bool LandmarkFactors::holds_needed(std::size_t wrong, std::size_t place) const {
  return std::ranges::any_of(landmarks_.list[wrong].needs, [&](std::size_t need) {
    return matched_[need].is_reached && std::ranges::any_of(matched_[need].sightings, [&](const Sighting& sighting) {
             return sighting.place == place && sighting.held == sighting.all;
           });
  });
}

bool LandmarkFactors::is_added_to(std::size_t wrong) const {
  for (std::size_t i = 0; i < matched_.size(); ++i) {
    const Landmark& landmark = landmarks_.list[i];
    if (!landmark.is_loaded || landmark.elements.empty() || landmark.elements.front().coordinate >= 0 || !matched_[i].is_reached) continue;
    for (std::size_t later = wrong + 1; later < matched_.size(); ++later) {
      if (std::ranges::count(landmarks_.list[later].needs, i) != 0 && match_.depends(later, wrong) && !match_.depends(wrong, i) &&
          std::ranges::count(landmarks_.list[later].needs, wrong) != 0)
        return true;
    }
  }
  return false;
}

bool LandmarkFactors::describe_vanished(std::size_t wrong, LandmarkFinding& finding) const {
  const Landmark& landmark = landmarks_.list[wrong];
  if (landmark.maxima.empty() || !parts_at(wrong)) return false;
  const auto is_zero = [&](std::size_t place) {
    return std::ranges::all_of(numbers_, [&](const SightedNumbers& numbers) { return numbers[place] == std::vector<double>{0.0}; });
  };
  bool is_stored = false;
  for (std::size_t place = 0; place < sightings_.places().size(); ++place) {
    if (sightings_.places()[place].stores && sightings_.places()[place].is_own && is_zero(place)) is_stored = true;
  }
  if (!is_stored) return false;
  finding.is_start = true;
  finding.sentence = fmt::format("all {} are 0: the maximum that is subtracted is much higher than the highest score, {:.6g}{}",
                                 plural(landmark), landmark.maxima.front(), right_before(wrong));
  constexpr double much = 0.8;
  finding.confidence = much;
  return true;
}

bool LandmarkFactors::describe_maximum(std::size_t wrong, std::size_t place, const Factors& factors, LandmarkFinding& finding) const {
  const Landmark& landmark = landmarks_.list[wrong];
  if (std::ranges::any_of(factors, [](const auto& one) { return one.second <= 0; })) return false;
  const auto subtracted = [&](const auto& one) {
    const double maximum = landmark.maxima[one.first] - math::log(one.second);
    constexpr double rounding = 1e-4;
    return std::abs(maximum) < rounding ? 0.0 : maximum;
  };
  const double first = subtracted(factors.front()), highest = landmark.maxima[factors.front().first];
  take_factor(finding, place);
  constexpr double same = 1e-3;
  // Above all scores, and the same for all rows: nothing raised it.
  finding.is_start = first > highest && std::ranges::all_of(factors, [&](const auto& one) {
                       return std::abs(subtracted(one) - first) <= same * std::max(1.0, std::abs(first));
                     });
  finding.sentence = fmt::format("the {} here are those for a maximum of {:.6g}, but the highest score is {:.6g}{}", plural(landmark),
                                 first, highest, right_before(wrong));
  return true;
}

}  // namespace assay::harness
