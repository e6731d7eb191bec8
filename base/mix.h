// splitmix64, the random numbers that are the same on every machine (Steele, Lea, Flood, OOPSLA 2014).
#pragma once

#include <cstdint>

namespace assay::base {

// The increment of the generator's state. A Weyl sequence: k steps from a state lead to state + k * kMixStep.
inline constexpr std::uint64_t kMixStep = 0x9e3779b97f4a7c15U;

// The finaliser: every bit of the argument affects every bit of the result.
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31U);
}

// The next number; advances the state.
constexpr std::uint64_t next_random(std::uint64_t& state) { return mix(state += kMixStep); }

}  // namespace assay::base
