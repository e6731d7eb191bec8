// Finds lines that read numbers of keys from wrong places.
#include "harness/triage/landmark_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness/triage/localise.h"

namespace assay::harness {
namespace {

// One number for each key, loaded or computed.
bool is_of_keys(const families::Landmark& landmark) {
  return !landmark.elements.empty() && landmark.elements.front().key >= 0 && landmark.elements.front().coordinate < 0;
}

}  // namespace

bool LandmarkNumbers::is_number_of_key(const Landmark& landmark) { return landmark.is_loaded && is_of_keys(landmark); }

bool LandmarkNumbers::is_keyless(std::size_t wrong) const {
  constexpr double by_chance = 0.3;
  bool is_any = is_of_keys(landmarks_.list[wrong]);
  for (std::size_t i = 0; i < matched_.size() && is_any; ++i) {
    const bool is_held = std::ranges::any_of(matched_[i].sightings, [&](const Sighting& one) { return one.share() > by_chance; });
    is_any = !is_of_keys(landmarks_.list[i]) || !is_held;
  }
  return is_any;
}

bool LandmarkNumbers::describe_few(std::size_t wrong, LandmarkFinding& finding) const {
  const Landmark& landmark = landmarks_.list[wrong];
  if (!is_number_of_key(landmark)) return false;
  std::vector<double> tensor;
  for (const LandmarkElement& other : landmark.others) tensor.push_back(other.values.front());
  std::ranges::sort(tensor);
  for (std::size_t place = 0; place < sightings_.places().size(); ++place) {
    const SightedPlace& where = sightings_.places()[place];
    if (!where.is_own || where.computes || where.stores) continue;
    const std::vector<double>& numbers = numbers_.front()[place];
    const auto is_of_tensor = [&](double number) { return std::ranges::binary_search(tensor, number); };
    // A line also gets numbers from other threads, which are computed somewhere.
    const auto is_known = [&](double number) { return number == 0 || is_of_tensor(number) || is_computed(number); };
    if (std::ranges::none_of(numbers, is_of_tensor) || !std::ranges::all_of(numbers, is_known)) continue;
    ElementList missing;
    static_cast<void>(cover(numbers, telling_elements(landmark.elements, 0), 1, 0, &missing));
    std::set<std::size_t> lost;
    for (const LandmarkElement* element : missing) lost.insert(static_cast<std::size_t>(element->key));
    if (lost.empty()) continue;
    finding.line = where.line;
    finding.is_missing = are_skipped(wrong, lost);
    finding.is_inside = !are_last(landmark, 0, lost);
    const std::string keys = fmt::format("key{} {}{}", lost.size() == 1 ? "" : "s", ranges_text(lost), in_row(0));
    finding.sentence = finding.is_missing ? fmt::format("this line never holds the {} of {}", plural(landmark), keys)
                                          : fmt::format("this line reads {} of others in place of those of {}", plural(landmark), keys);
    constexpr double much = 0.8;
    finding.confidence = much;
    return true;
  }
  return false;
}

bool LandmarkNumbers::is_computed(double number) const {
  for (std::size_t place = 0; place < sightings_.places().size(); ++place) {
    if (sightings_.places()[place].computes && std::ranges::binary_search(numbers_.front()[place], number)) return true;
  }
  return false;
}

bool LandmarkNumbers::are_skipped(std::size_t wrong, const std::set<std::size_t>& lost) const {
  for (std::size_t i = 0; i < matched_.size(); ++i) {
    const Landmark& other = landmarks_.list[i];
    if (i == wrong || match_.depends(i, wrong) || other.elements.empty() || other.elements.front().key < 0) continue;
    const bool goes_with_it = std::ranges::any_of(landmarks_.list, [&](const Landmark& later) {
      return std::ranges::count(later.needs, i) != 0 && std::ranges::count(later.needs, wrong) != 0;
    });
    if (!goes_with_it) continue;
    if (matched_[i].is_reached) return false;
    for (const Sighting& sighting : matched_[i].sightings) {
      ElementList missing;
      static_cast<void>(
          cover(numbers_.front()[sighting.place], telling_elements(other.elements, 0), 1, match_.tolerance_of(sighting.place), &missing));
      const bool are_missing = std::ranges::all_of(lost, [&](std::size_t key) {
        return std::ranges::any_of(missing, [&](const LandmarkElement* one) { return one->key == static_cast<std::int64_t>(key); });
      });
      if (are_missing && sighting.held != 0) return true;
    }
  }
  return false;
}

bool LandmarkNumbers::are_last(const Landmark& landmark, std::size_t row, const std::set<std::size_t>& keys) {
  std::int64_t last_other = -1;
  for (const LandmarkElement* element : telling_elements(landmark.elements, row)) {
    if (!keys.contains(static_cast<std::size_t>(element->key))) last_other = std::max(last_other, element->key);
  }
  return static_cast<std::int64_t>(*keys.begin()) > last_other;
}

std::set<std::size_t> LandmarkNumbers::lost_keys(const Landmark& landmark, std::size_t row, const ElementList& missing) {
  std::map<std::int64_t, std::size_t> all, lost;
  for (const LandmarkElement* element : telling_elements(landmark.elements, row)) ++all[element->key];
  for (const LandmarkElement* element : missing) ++lost[element->key];
  std::set<std::size_t> keys;
  // Some of their numbers may occur elsewhere too, but wrong coordinates would be wrong for most keys.
  if (2 * lost.size() > all.size()) return keys;
  for (const auto& [key, count] : lost) {
    if (key >= 0) keys.insert(static_cast<std::size_t>(key));
  }
  return keys;
}

}  // namespace assay::harness
