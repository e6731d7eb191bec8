// Draws axis values with SplitMix64 (Steele, Lea, Flood 2014).
#include "families/draw.h"

#include <vector>

#include "base/digest.h"

namespace assay::families {

Draw::Draw(std::uint64_t seed, std::string_view name, std::uint64_t index)
    : state_(base::digest_of(name) ^ (seed * 0x9e3779b97f4a7c15U) ^ (index << 40U)) {}

std::int64_t Draw::between(std::int64_t least, std::int64_t most) {
  state_ += 0x9e3779b97f4a7c15U;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  z ^= z >> 31U;
  return least + static_cast<std::int64_t>(z % static_cast<std::uint64_t>(most - least + 1));
}

std::int64_t Draw::divisor_of(std::int64_t number) {
  std::vector<std::int64_t> divisors;
  for (std::int64_t divisor = 1; divisor <= number; ++divisor) {
    if (number % divisor == 0) divisors.push_back(divisor);
  }
  return divisors[static_cast<std::size_t>(between(0, static_cast<std::int64_t>(divisors.size()) - 1))];
}

}  // namespace assay::families
