// What is true of prefix sums: the exact value of every element, and the largest error of a correct kernel.
#pragma once

#include <cstddef>
#include <span>

#include "oracles/expected.h"

namespace prefix_sum {

// For `src`, float [rows, length], whose size must be a multiple of `length`. Every prefix of a row may be summed in any order, in float.
assay::oracles::Expected prefix_sums(std::span<const float> src, std::size_t length);

}  // namespace prefix_sum
