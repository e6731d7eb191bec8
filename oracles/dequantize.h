// The exact values of stored TurboQuant positions, with the bound of the `dequantize` contract in float.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "oracles/arithmetic.h"
#include "oracles/attention.h"
#include "oracles/expected.h"

namespace assay::oracles {

struct DequantizeShape {
  std::size_t kv_heads = 0;     // G
  std::size_t head_dim = 0;     // D, 256 or 512
  std::size_t kv_capacity = 0;  // cap
  std::size_t position = 0;     // slot to read, < cap
};

// Output [G, D], still rotated, of one slot: K's codes and norms of `cache`, laid out as TurboQuantCache says with one norm per block. The
// spans hold the whole cache; only the slot is read. Throws std::invalid_argument with the offending values if they do not
// fit the shape or a norm of the slot is not finite.
[[nodiscard]] Expected dequantize(const DequantizeShape& shape, int bits, float scale_factor_d512, std::span<const std::uint8_t> codes,
                                  std::span<const float> norms, const ArithmeticProfile& profile = simulator_profile());

}  // namespace assay::oracles
