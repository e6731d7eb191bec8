// Counts equal numbers without sorting them.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/mix.h"

namespace assay::base {

// A table of numbers and how often each was added; used again for the next numbers, because a new one costs more than counting.
class Tally {
 public:
  // Forgets everything, and makes room for so many numbers.
  void begin(std::size_t numbers) { places_.assign(std::bit_ceil(2 * numbers + 1), {}); }
  // Returns how often the number was added, this time included. Both zeros are one number. Not for NaN.
  std::size_t add(double number) {
    const auto bits = std::bit_cast<std::uint64_t>(number + 0.0);
    for (std::size_t at = base::mix(bits);; ++at) {
      Place& place = places_[at & (places_.size() - 1)];
      if (place.count != 0 && place.bits != bits) continue;
      place.bits = bits;
      return ++place.count;
    }
  }

 private:
  struct Place {
    std::uint64_t bits = 0;
    std::size_t count = 0;
  };
  std::vector<Place> places_;
};

}  // namespace assay::base
