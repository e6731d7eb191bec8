// Random kernels: they diverge, loop, meet, share memory and wait at barriers. Only lanes of one simdgroup race, which lockstep orders.
#pragma once

#include <cstdint>
#include <random>
#include <string>

namespace assay::tests {

// A kernel `test` over out [[buffer(0)]], in [[buffer(1)]] of kRandomInputs words. Each thread writes kRandomOutputs words, its own. It
// expects threadgroups of up to 4 full simdgroups. The same seed gives the same text on every machine.
//
// From seed kFirstStoringKernel on, lanes also store to one another's elements, in branches and loops, without barriers: to only_written
// [[buffer(2)]], to both [[buffer(3)]], from which they also read, and to threadgroup memory. Both buffers have kRandomArea words for each
// simdgroup, four to a threadgroup.
inline constexpr std::size_t kRandomInputs = 256;
inline constexpr std::size_t kRandomOutputs = 12;
inline constexpr std::size_t kRandomArea = 32;
inline constexpr std::uint64_t kFirstStoringKernel = 100'000;
std::string random_kernel(std::uint64_t seed);

}  // namespace assay::tests
