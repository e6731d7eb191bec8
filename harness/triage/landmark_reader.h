// What is right and wrong in a match of landmarks, and their names in sentences. Internal to harness/triage.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "harness/triage/landmark_match.h"

namespace assay::harness {

class LandmarkReader {
 public:
  LandmarkReader(const LandmarkMatch& match, const std::string& file, const std::vector<std::string>& row_names)
      : match_(match), file_(file), row_names_(row_names) {}

 protected:
  using Landmark = families::Landmark;
  using LandmarkElement = families::LandmarkElement;

  [[nodiscard]] bool is_wrong(std::size_t i) const {
    return matched_[i].says_something && !matched_[i].is_reached && !match_.is_excused(i);
  }

  // Whether a landmark is wrong although all that it is computed from is right, and so is what else is computed from that.
  [[nodiscard]] bool parts_at(std::size_t i) const {
    const Landmark& landmark = landmarks_.list[i];
    if (landmark.is_loaded || landmark.is_optional) return false;
    bool is_any_right = false;
    for (const std::size_t need : landmark.needs) {
      // What says nothing is not known to be right.
      if (!matched_[need].is_reached && !landmarks_.list[need].is_optional) return false;
      is_any_right = is_any_right || (matched_[need].is_reached && !matched_[need].whole.empty());
    }
    bool has_sibling = false;
    for (std::size_t other = 0; other < matched_.size() && is_any_right; ++other) {
      if (match_.depends(i, other) && is_wrong(other) && !landmarks_.list[other].is_optional) return false;
      if (other == i || !is_sibling(other, i)) continue;
      if (!matched_[other].is_reached) return false;
      has_sibling = true;
    }
    return is_any_right && (has_sibling || has_several(i));
  }

  // Whether all that it is computed from is known to be right. If not, a wrong factor may come from that.
  [[nodiscard]] bool knows_needs(std::size_t i) const {
    return std::ranges::all_of(landmarks_.list[i].needs, [&](std::size_t need) {
      return landmarks_.list[need].is_optional || (matched_[need].says_something && (matched_[need].is_reached || match_.is_excused(need)));
    });
  }

  // Whether every right kernel computes both from the same, and none of them from the other.
  [[nodiscard]] bool is_sibling(std::size_t one, std::size_t other) const {
    const Landmark& landmark = landmarks_.list[one];
    if (landmark.is_loaded || landmark.is_optional || !matched_[one].says_something) return false;
    if (match_.depends(one, other) || match_.depends(other, one)) return false;
    return std::ranges::any_of(landmark.needs, [&](std::size_t need) {
      return !landmarks_.list[need].is_optional && std::ranges::count(landmarks_.list[other].needs, need) != 0;
    });
  }

  // Whether chance does not explain what lines hold of it.
  [[nodiscard]] bool has_several(std::size_t i) const {
    constexpr std::size_t several = 4;
    std::size_t count = 0;
    for (std::size_t row = 0; row < landmarks_.rows.size(); ++row) count += telling_elements(landmarks_.list[i].elements, row).size();
    return count >= several;
  }

  // Whether what it is computed from is right, but for a number that is read for each key: then it is read from a wrong place.
  [[nodiscard]] bool reads_wrong_place(std::size_t wrong) const {
    bool is_computed_right = false, is_unread = false;
    for (const std::size_t need : landmarks_.list[wrong].needs) {
      const Landmark& landmark = landmarks_.list[need];
      if (!matched_[need].says_something) continue;
      is_computed_right = is_computed_right || (!landmark.is_loaded && matched_[need].is_reached);
      // Few different values are met wherever they are read from.
      const bool is_read = matched_[need].is_reached && matched_[need].is_strong;
      is_unread = is_unread || (landmark.is_loaded && !is_read && !match_.is_excused(need) && landmark.elements.front().coordinate < 0);
    }
    return is_computed_right && is_unread;
  }

  // Whether the wrong one is computed from it, and from nothing right that is computed from it in turn.
  [[nodiscard]] bool is_needed(std::size_t wrong, std::size_t earlier) const {
    if (!match_.needs(wrong, earlier)) return false;
    for (std::size_t i = earlier + 1; i < wrong; ++i) {
      if (matched_[i].is_reached && !matched_[i].whole.empty() && match_.needs(wrong, i) && match_.depends(i, earlier)) return false;
    }
    return true;
  }

  [[nodiscard]] static std::string plural(const Landmark& landmark) {
    std::string name(landmark.name);
    const std::size_t of = name.find(" of ");
    return of == std::string::npos ? name + "s" : name.insert(of, "s");
  }

  [[nodiscard]] std::string right_before(std::size_t wrong) const {
    std::string names;
    for (std::size_t i = 0; i < matched_.size(); ++i) {
      if (matched_[i].is_reached && match_.needs(wrong, i))
        names += fmt::format("{}{}", names.empty() ? "" : ", ", plural(landmarks_.list[i]));
    }
    return names.empty() ? "" : fmt::format("; right are {}", names);
  }

  [[nodiscard]] std::string in_row(std::size_t row) const { return row_names_[row].empty() ? "" : fmt::format(" {}", row_names_[row]); }

  [[nodiscard]] static std::string named(const Landmark& landmark, const LandmarkElement& element) {
    std::string name(fmt::format("the {}", landmark.name));
    if (element.coordinate >= 0) name += fmt::format(" {}", element.coordinate);
    if (element.key >= 0) name += fmt::format(" of key {}", element.key);
    return name;
  }

  const LandmarkMatch& match_;
  const std::string& file_;
  const std::vector<std::string>& row_names_;
  const families::Landmarks& landmarks_ = match_.landmarks();
  const Sightings& sightings_ = match_.sightings();
  const std::vector<SightedNumbers>& numbers_ = match_.numbers();
  const std::vector<MatchedLandmark>& matched_ = match_.matched();
};

}  // namespace assay::harness
