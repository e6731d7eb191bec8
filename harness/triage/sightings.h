// What the lines of a kernel hold, for matching with landmarks. Internal to harness/triage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "families/landmarks.h"
#include "metal/execute/value_trace.h"

namespace assay::harness {

// A line of the kernel in one dispatch, and one type and kind of the numbers that it has there: computed, moved or stored.
struct SightedPlace {
  std::uint32_t line = 0;
  std::uint32_t dispatch = 0;
  bool stores = false;    // to memory that threads share
  bool computes = false;  // the numbers are results of operations
  double coarseness = 1;  // how much coarser than float the type is
  bool is_input = false;  // whether it only holds numbers of the inputs
  bool is_own = true;     // of the kernel's own file: others can be right, but are never named
};

// The numbers of each place, sorted, without duplicates; only those of threadgroups that work on one row.
using SightedNumbers = std::vector<std::vector<double>>;

class Sightings {
 public:
  // `file`: the kernel's own.
  Sightings(const metal::ValueTrace& trace, const std::string& file);

  [[nodiscard]] const std::vector<SightedPlace>& places() const { return places_; }
  // Marks places that hold hardly anything but these numbers, which are sorted. What they hold besides gets a place of its own: a line may
  // read inputs and combine over threads what it computes from them.
  void mark_inputs(const std::vector<double>& inputs);
  // Numbers of the threadgroups that hold at least nine tenths of the row's values of this landmark, and of dispatches in which no
  // threadgroup does. Of all threadgroups, if none does anywhere.
  [[nodiscard]] SightedNumbers numbers_for(const families::Landmark& landmark, std::size_t row, double tolerance) const;

 private:
  void add_rest(std::size_t place, const std::vector<double>& inputs);

  struct Group {
    std::uint32_t dispatch = 0;
    SightedNumbers numbers;  // by place; empty where the group holds nothing
  };
  std::vector<SightedPlace> places_;
  std::vector<Group> groups_;
};

// How many of the elements the sorted numbers hold, all of them times `factor`. With `missing`, tells which they do not.
struct HeldElements {
  std::size_t held = 0, all = 0;
  double factor = 1;
  std::string factor_name = {};
  bool is_chance = false;  // enough are met, but that many would be by chance: nothing is known
  [[nodiscard]] double share() const { return all == 0 ? 0.0 : static_cast<double>(held) / static_cast<double>(all); }
};
using ElementList = std::vector<const families::LandmarkElement*>;

// The elements of a row that say something: not 0, not 1, finite.
[[nodiscard]] ElementList telling_elements(const std::vector<families::LandmarkElement>& elements, std::size_t row);
[[nodiscard]] HeldElements cover(const std::vector<double>& numbers, const ElementList& elements, double factor, double tolerance,
                                 ElementList* missing = nullptr);
// The best of no factor and these factors, less what is met by chance. Loaded values are not rounded, but for a factor.
[[nodiscard]] HeldElements best_cover(const std::vector<double>& numbers, const ElementList& elements, const families::Landmark& landmark,
                                      const SightedPlace& place, double tolerance);
// The number nearest to a value; the numbers are sorted and not empty.
[[nodiscard]] double nearest_number(const std::vector<double>& numbers, double value);
// "the nearest number is 0.5"; a threadgroup may not get as far as the line, so there may be none. Sorted.
[[nodiscard]] std::string nearest_to(const families::LandmarkElement& element, const std::vector<double>& numbers);

}  // namespace assay::harness
