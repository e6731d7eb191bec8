// Random kernels that are right: they diverge, loop, meet, share memory and wait at barriers, and do not race.
#pragma once

#include <cstdint>
#include <random>
#include <string>

namespace assay::tests {

// A kernel `test` over out [[buffer(0)]], in [[buffer(1)]] of kRandomInputs words. Each thread writes kRandomOutputs words, its own. It
// expects threadgroups of up to 4 full simdgroups. The same seed gives the same text on every machine.
inline constexpr std::size_t kRandomInputs = 256;
inline constexpr std::size_t kRandomOutputs = 12;
std::string random_kernel(std::uint64_t seed);

}  // namespace assay::tests
