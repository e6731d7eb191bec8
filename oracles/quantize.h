// The exact quantisation of one token per key/value head: the indices that each coordinate may get, and its norms, with bounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "oracles/arithmetic.h"
#include "oracles/expected.h"

namespace assay::oracles {

// For norms up to this, every quantiser input is 0; the norm itself is stored unchanged.
inline constexpr float kSmallestNorm = 1e-10F;

struct QuantizeShape {
  std::size_t kv_heads = 0;        // G
  std::size_t head_dim = 0;        // D, 256 or 512
  int bits = 4;                    // 4, 5, 6 or 8
  float scale_factor_d512 = 1.0F;  // of the quantiser input at D = 512
};

// y = R x, the rotated row. D = 256: norm = ||y||, input y * (sqrt(256) / norm). D = 512: two blocks of 256 coordinates, each
// norm_b = ||y_b|| / sqrt(256), input y * (scale_factor_d512 / norm_b). Index: the number of boundaries strictly below the input.
struct QuantizedToken {
  // [G, D]. The index of a correct kernel is from `lowest` to `highest`. They differ, usually by one, only if the exact input is so close
  // to a boundary that rounding may move it across.
  std::vector<std::uint8_t> lowest, highest;
  Expected norms;   // [G, D / 256]
  Expected inputs;  // [G, D], the quantiser inputs, as the probe writes them
};

// `src` float [G, D], not rotated. `sum_depth`: number of roundings from a square to the finished sum; 0 means D, which holds for every
// order of summation. Throws std::invalid_argument with the offending values for a wrong shape or size, or a value that is not finite.
[[nodiscard]] QuantizedToken quantize(const QuantizeShape& shape, std::span<const float> src, std::size_t sum_depth = 0,
                                      const ArithmeticProfile& profile = simulator_profile());

}  // namespace assay::oracles
