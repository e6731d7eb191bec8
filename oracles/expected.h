// What an oracle hands out: the exact value of every output element and how far from it a right kernel may be.
#pragma once

#include <cstddef>
#include <vector>

namespace assay::oracles {

// Three arrays of one length, in the element order of the output that they judge.
struct Expected {
  std::vector<double> value;      // the exact result, evaluated in double
  std::vector<double> bound;      // b_j >= 0: no right kernel is further from value than this; derived in oracles/README.md
  std::vector<double> magnitude;  // A_j >= |value|: the same sum over absolute values; b_j / A_j says how sharp the bound is

  [[nodiscard]] std::size_t size() const { return value.size(); }
};

}  // namespace assay::oracles
