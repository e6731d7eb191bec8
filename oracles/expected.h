// The result of an oracle: the exact value of every output element, and the largest error of a correct kernel.
#pragma once

#include <cstddef>
#include <vector>

namespace assay::oracles {

// Three arrays of one length, in the element order of the output that they judge.
struct Expected {
  std::vector<double> value;      // the exact result, evaluated in double
  std::vector<double> bound;      // b_j >= 0: the largest error of a correct kernel; derived in oracles/README.md
  std::vector<double> magnitude;  // A_j >= |value|: the same sum over absolute values; b_j / A_j measures the sharpness of the bound

  [[nodiscard]] std::size_t size() const { return value.size(); }
};

}  // namespace assay::oracles
