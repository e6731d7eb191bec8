// The exact normalised Walsh-Hadamard transform, with the bound of the `fwht` contract in float.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "oracles/arithmetic.h"
#include "oracles/expected.h"

namespace assay::oracles {

// H is the Walsh-Hadamard matrix in natural (Sylvester) order divided by sqrt(D); s the sign table of D.
enum class FwhtMode {
  plain,        // y = H x
  signs_first,  // y = H diag(s) x: the rotation R x
  signs_last,   // y = diag(s) H x: the inverse rotation R^T x
};

// One transform of each row of float `data` [rows, D], D = 256 or 512 (other powers of two from 1 to 4096 only in mode plain). Bound per
// element: gamma(log2 D + 2) sum_i |x_i| / sqrt(D) and underflow. Throws std::invalid_argument for other D or a ragged size.
[[nodiscard]] Expected fwht(std::span<const float> data, std::size_t head_dim, FwhtMode mode,
                            const ArithmeticProfile& profile = simulator_profile());

// The same in place on double and without a bound, for fixtures that rotate their source data.
void fwht_in_place(std::span<double> data, std::size_t head_dim, FwhtMode mode);

// H by its definition, row-major [D, D]: (-1)^popcount(i & j) / sqrt(D).
[[nodiscard]] std::vector<double> hadamard_matrix(std::size_t dim);

}  // namespace assay::oracles
