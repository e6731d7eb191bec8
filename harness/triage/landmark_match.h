// Which landmarks the lines of a kernel reach. Internal to harness/triage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "families/landmarks.h"
#include "harness/triage/sightings.h"
#include "metal/execute/value_trace.h"

namespace assay::harness {

// How a place holds a landmark in all described rows.
struct Sighting {
  std::size_t place = 0;
  std::size_t held = 0, all = 0;
  std::string factor_name;  // of the last row; empty: none
  [[nodiscard]] double share() const { return all == 0 ? 0.0 : static_cast<double>(held) / static_cast<double>(all); }
};

struct MatchedLandmark {
  bool says_something = false;
  bool is_reached = false;
  bool is_full = false;             // the same with all values
  bool is_strong = false;           // has so many values that they do not occur together by chance
  std::vector<Sighting> sightings;  // of places that hold a part of it, the best first
  std::set<std::uint32_t> whole;    // lines that hold all of a row
  // The first of them, as dispatch and line: what comes later may only carry the values.
  std::pair<std::uint32_t, std::uint32_t> first = {std::numeric_limits<std::uint32_t>::max(), 0};
};

class LandmarkMatch {
 public:
  // Refers to `landmarks`, which are not empty and describe a row. `tolerance`: relative, of numbers in float.
  LandmarkMatch(const metal::ValueTrace& trace, const families::Landmarks& landmarks, const std::string& file, double tolerance);

  [[nodiscard]] const families::Landmarks& landmarks() const { return landmarks_; }
  [[nodiscard]] const Sightings& sightings() const { return sightings_; }
  [[nodiscard]] const std::vector<SightedNumbers>& numbers() const { return numbers_; }   // by described row
  [[nodiscard]] const std::vector<MatchedLandmark>& matched() const { return matched_; }  // by landmark
  [[nodiscard]] double tolerance() const { return tolerance_; }
  [[nodiscard]] double tolerance_of(std::size_t place) const { return tolerance_ * sightings_.places()[place].coarseness; }

  // Whether something that is computed from the landmark is right: then a kernel of this style does without it.
  [[nodiscard]] bool is_excused(std::size_t landmark) const;
  // Whether the one is computed from the other, by whatever way.
  [[nodiscard]] bool depends(std::size_t landmark, std::size_t earlier) const;
  // Whether it is computed from the other directly, or by way of landmarks that kernels of this style do without.
  [[nodiscard]] bool needs(std::size_t landmark, std::size_t earlier) const;

 private:
  [[nodiscard]] std::vector<double> input_numbers() const;
  [[nodiscard]] MatchedLandmark match(const families::Landmark& landmark) const;
  // Places that together read a row of an input, a part of it each, as in loops that are unrolled; empty if none do.
  [[nodiscard]] std::vector<std::size_t> joined(const families::Landmark& landmark, const ElementList& elements, std::size_t row) const;

  const families::Landmarks& landmarks_;
  double tolerance_;
  Sightings sightings_;
  std::vector<SightedNumbers> numbers_;
  std::vector<MatchedLandmark> matched_;
};

}  // namespace assay::harness
