// Draws axis values from a seed, for cases that no table contains.
#pragma once

#include <cstdint>
#include <string_view>

namespace assay::families {

// A sequence of numbers that depends on the seed, the name and the index alone.
class Draw {
 public:
  Draw(std::uint64_t seed, std::string_view name, std::uint64_t index);

  // Every number from `least` to `most` is equally likely.
  [[nodiscard]] std::int64_t between(std::int64_t least, std::int64_t most);
  // Every divisor of a positive number is equally likely.
  [[nodiscard]] std::int64_t divisor_of(std::int64_t number);

 private:
  std::uint64_t state_;
};

}  // namespace assay::families
