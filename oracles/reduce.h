// The exact result of merging stored partials, with the bound of the `reduce` contract in float.
#pragma once

#include <span>

#include "oracles/arithmetic.h"
#include "oracles/expected.h"
#include "oracles/partials.h"

namespace assay::oracles {

// Output [rows, D] from float partials taken as exact numbers: sum_w O_w e^(M_w - Mg) / sum_w S_w e^(M_w - Mg), Mg = max M_w; 0 where
// the denominator is 0. Domain: finite partials, S_w >= 0, and O_w = 0 where S_w = 0. Throws std::invalid_argument with
// the offending values outside of it.
[[nodiscard]] Expected reduce(const PartialsShape& shape, std::span<const float> raw,
                              const ArithmeticProfile& profile = simulator_profile());

}  // namespace assay::oracles
