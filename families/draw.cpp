// Draws axis values.
#include "families/draw.h"

#include <vector>

#include "base/digest.h"
#include "base/mix.h"

namespace assay::families {

Draw::Draw(std::uint64_t seed, std::string_view name, std::uint64_t index)
    : state_(base::digest_of(name) ^ (seed * base::kMixStep) ^ (index << 40U)) {}

std::int64_t Draw::between(std::int64_t least, std::int64_t most) {
  return least + static_cast<std::int64_t>(base::next_random(state_) % static_cast<std::uint64_t>(most - least + 1));
}

std::int64_t Draw::divisor_of(std::int64_t number) {
  std::vector<std::int64_t> divisors;
  for (std::int64_t divisor = 1; divisor <= number; ++divisor) {
    if (number % divisor == 0) divisors.push_back(divisor);
  }
  return divisors[static_cast<std::size_t>(between(0, static_cast<std::int64_t>(divisors.size()) - 1))];
}

}  // namespace assay::families
