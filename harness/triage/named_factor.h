// Names of the constants that kernels leave out or apply twice.
#pragma once

#include <span>
#include <string>

namespace assay::harness {

// "0.0441942 = 1/sqrt(512)", if the factor is such a constant within a thousandth; else the number alone. `row_lengths`: the roots and
// quotients of these count too, and the roots of usual ones.
[[nodiscard]] std::string named_factor(double factor, std::span<const double> row_lengths);

}  // namespace assay::harness
