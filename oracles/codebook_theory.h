// The distortion of a scalar codebook for normal data, and the optimal codebook of the same size.
//
// A quantiser with centroids c_0 < ... < c_(N-1) replaces x by the nearest: cell i lies between the midpoints b_(i-1) and b_i
// (b_(-1) = -inf, b_(N-1) = inf). It is optimal in the mean square (Lloyd 1957, Max 1960) if every centroid is the mean of its cell,
// c_i = E[x | b_(i-1) < x < b_i]. All figures here are for x ~ N(0, 1).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace assay::oracles {

// E (x - Q(x))^2. `centroids` ascending, at least one; anything else throws std::invalid_argument.
[[nodiscard]] double mean_squared_error(std::span<const double> centroids);

// For each centroid its distance from the mean of its cell, in units of the cell's width (of the distance from the boundary to
// the mean for the two outer cells, which have none).
[[nodiscard]] std::vector<double> centroid_residuals(std::span<const double> centroids);

// The optimal codebook of `levels` centroids, 1 to 4096: Newton's method on c_i - E[x | cell i] = 0 from Panter and Dite's point density,
// until no residual exceeds 1e-12 of its cell. Throws std::runtime_error if it does not get there.
[[nodiscard]] std::vector<double> optimal_codebook(std::size_t levels);

// The mean squared error that the optimum approaches as N grows: sqrt(3) pi / 2 / N^2 (Panter and Dite 1951).
[[nodiscard]] double panter_dite(std::size_t levels);

}  // namespace assay::oracles
