// How likely it is that a common property is chance.
#pragma once

#include <cstddef>

namespace assay::base {

// The chance that `drawn` of `all` things, drawn at random, all are among the `having` that have a property.
[[nodiscard]] inline double chance_of(std::size_t all, std::size_t having, std::size_t drawn) {
  if (drawn > having) return 0;
  double chance = 1;
  for (std::size_t i = 0; i < drawn; ++i) chance *= static_cast<double>(having - i) / static_cast<double>(all - i);
  return chance;
}

}  // namespace assay::base
