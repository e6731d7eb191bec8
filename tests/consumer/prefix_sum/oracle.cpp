// Prefix sums in double, and their bound.
#include "prefix_sum/oracle.h"

#include <cmath>

#include "oracles/arithmetic.h"

namespace prefix_sum {

namespace oracles = assay::oracles;

// A sum of n + 1 floats, in any order, is a tree in which each float passes through at most n additions. Every addition multiplies by
// 1 + d with |d| <= u, so the error is at most gamma(n) times the sum of the absolute values. A device that flushes subnormals also loses
// at most eta_add in each addition. The last term is the error of the sum below, in double.
oracles::Expected prefix_sums(std::span<const float> src, std::size_t length) {
  const oracles::ArithmeticProfile& profile = oracles::simulator_profile();
  oracles::Expected expected;
  double sum = 0.0;
  double magnitude = 0.0;
  for (std::size_t i = 0; i < src.size(); ++i) {
    const auto value = static_cast<double>(src[i]);
    const std::size_t n = i % length;
    sum = n == 0 ? value : sum + value;
    magnitude = n == 0 ? std::abs(value) : magnitude + std::abs(value);
    const auto additions = static_cast<double>(n);
    expected.value.push_back(sum);
    expected.bound.push_back(oracles::gamma(additions) * magnitude + additions * profile.eta_add +
                             oracles::gamma(additions, 0x1p-53) * magnitude);
    expected.magnitude.push_back(magnitude);
  }
  return expected;
}

}  // namespace prefix_sum
