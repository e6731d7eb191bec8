// Matches landmarks with what the lines of a kernel hold.
#include "harness/triage/landmark_match.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "harness/triage/ordered.h"

namespace assay::harness {

using families::Landmark;
using families::LandmarkElement;

LandmarkMatch::LandmarkMatch(const metal::ValueTrace& trace, const families::Landmarks& landmarks, const std::string& file,
                             double tolerance)
    : landmarks_(landmarks), tolerance_(tolerance), sightings_(trace, file) {
  sightings_.mark_inputs(input_numbers());
  for (std::size_t row = 0; row < landmarks.rows.size(); ++row)
    numbers_.push_back(sightings_.numbers_for(landmarks.list.front(), row, tolerance_));
  for (const Landmark& landmark : landmarks.list) matched_.push_back(match(landmark));
}

std::vector<double> LandmarkMatch::input_numbers() const {
  std::vector<double> inputs;
  for (const Landmark& landmark : landmarks_.list) {
    if (!landmark.is_loaded) continue;
    for (const auto* elements : {&landmark.elements, &landmark.others}) {
      for (const LandmarkElement& element : *elements) inputs.push_back(element.values.front());
    }
  }
  std::ranges::sort(inputs);
  return inputs;
}

std::vector<std::size_t> LandmarkMatch::joined(const Landmark& landmark, const ElementList& elements, std::size_t row) const {
  constexpr std::uint32_t near = 2;    // lines
  constexpr double overlapping = 1.2;  // what the parts hold, as a share of the whole: lines that hold something by chance share it
  const std::vector<SightedPlace>& places = sightings_.places();
  std::vector<std::size_t> parts;
  for (std::size_t place = 0; place < places.size(); ++place) {
    if (!places[place].computes && !places[place].stores && !numbers_[row][place].empty()) parts.push_back(place);
  }
  constexpr double lines = 0x1p32;
  order_by(parts, [&](std::size_t place) { return lines * places[place].dispatch + places[place].line; });
  for (std::size_t first = 0; first < parts.size(); ++first) {
    std::vector<double> numbers;
    std::size_t held = 0;
    for (std::size_t last = first; last < parts.size(); ++last) {
      const SightedPlace& place = places[parts[last]];
      const SightedPlace& before = places[parts[last == first ? first : last - 1]];
      if (place.dispatch != before.dispatch || place.line > before.line + near || place.coarseness != before.coarseness) break;
      const std::vector<double>& own = numbers_[row][parts[last]];
      held += best_cover(own, elements, landmark, place, tolerance_).held;
      numbers.insert(numbers.end(), own.begin(), own.end());
      if (last == first) continue;
      std::ranges::sort(numbers);
      const HeldElements together = best_cover(numbers, elements, landmark, place, tolerance_);
      if (together.share() < landmark.enough || static_cast<double>(held) > overlapping * static_cast<double>(together.held)) continue;
      return {parts.begin() + static_cast<std::ptrdiff_t>(first), parts.begin() + static_cast<std::ptrdiff_t>(last) + 1};
    }
  }
  return {};
}

MatchedLandmark LandmarkMatch::match(const Landmark& landmark) const {
  MatchedLandmark matched;
  std::size_t rows = 0, reached = 0, full = 0;
  std::map<std::size_t, Sighting> by_place;
  for (std::size_t row = 0; row < landmarks_.rows.size(); ++row) {
    const ElementList elements = telling_elements(landmark.elements, row);
    if (elements.empty()) continue;
    ++rows;
    constexpr std::size_t many = 6;
    std::set<float> different;
    for (const LandmarkElement* element : elements) different.insert(static_cast<float>(element->values.front()));
    matched.is_strong = matched.is_strong || different.size() >= many;
    bool is_reached = false, is_full = false, is_chance = false;
    for (std::size_t place = 0; place < numbers_[row].size(); ++place) {
      const HeldElements coverage = best_cover(numbers_[row][place], elements, landmark, sightings_.places()[place], tolerance_);
      Sighting& sighting = by_place[place];
      sighting.place = place;
      sighting.held += coverage.held;
      sighting.all += coverage.all;
      sighting.factor_name = coverage.factor_name;
      const bool is_whole = coverage.share() >= landmark.enough;
      is_reached = is_reached || is_whole;
      is_full = is_full || coverage.held == coverage.all;
      is_chance = is_chance || (coverage.is_chance && sightings_.places()[place].is_own);
      if (!is_whole || !sightings_.places()[place].is_own) continue;
      const SightedPlace& where = sightings_.places()[place];
      matched.whole.insert(where.line);
      matched.first = std::min(matched.first, {where.dispatch, where.line});
    }
    if (landmark.is_loaded && !is_reached) {
      for (const std::size_t place : joined(landmark, elements, row)) {
        const SightedPlace& where = sightings_.places()[place];
        is_reached = is_full = true;
        if (!where.is_own) continue;
        matched.whole.insert(where.line);
        matched.first = std::min(matched.first, {where.dispatch, where.line});
      }
    }
    if (is_chance && !is_reached) --rows;
    reached += is_reached ? 1 : 0;
    full += is_full ? 1 : 0;
  }
  matched.says_something = rows != 0;
  matched.is_reached = rows != 0 && reached == rows;
  matched.is_full = rows != 0 && full == rows;
  for (const auto& [place, sighting] : by_place) {
    if (sighting.held != 0 && sightings_.places()[place].is_own) matched.sightings.push_back(sighting);
  }
  order_by(matched.sightings, [](const Sighting& sighting) { return -sighting.share(); });
  return matched;
}

bool LandmarkMatch::is_excused(std::size_t landmark) const {
  for (std::size_t later = landmark + 1; later < matched_.size(); ++later) {
    const auto& needs = landmarks_.list[later].needs;
    // What kernels may do without, a few right results excuse too.
    const bool is_right = matched_[later].is_full && (matched_[later].is_strong || landmarks_.list[landmark].is_optional);
    if (std::ranges::find(needs, landmark) != needs.end() && (is_right || is_excused(later))) return true;
  }
  return false;
}

bool LandmarkMatch::depends(std::size_t landmark, std::size_t earlier) const {
  return std::ranges::any_of(landmarks_.list[landmark].needs, [&](std::size_t one) { return one == earlier || depends(one, earlier); });
}

bool LandmarkMatch::needs(std::size_t landmark, std::size_t earlier) const {
  return std::ranges::any_of(landmarks_.list[landmark].needs,
                             [&](std::size_t one) { return one == earlier || (!matched_[one].is_reached && needs(one, earlier)); });
}

}  // namespace assay::harness
