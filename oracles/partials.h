// Partial results of a decode attention split over NWG workgroups: their layout, and their merge in double.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "oracles/expected.h"

namespace assay::oracles {

// The layout of `raw`, an array of float. Workgroup w has for row r
//   O[j], j < D: the weighted sum of values, at (r * D/4 * NWG + NWG * (j/4) + w) * 4 + j%4 (interleaved by float4);
//   S, M: the sum of weights and the largest score, at rows * D * NWG + r * 2 * NWG + 2 * w and the element after it.
struct PartialsShape {
  std::size_t rows = 0;      // heads (times queries)
  std::size_t head_dim = 0;  // D, a multiple of 4
  std::size_t nwg = 0;       // workgroups per row, >= 1

  [[nodiscard]] std::size_t size() const { return rows * nwg * (head_dim + 2); }  // in floats
  [[nodiscard]] std::size_t output_index(std::size_t row, std::size_t workgroup, std::size_t j) const {
    return ((row * (head_dim / 4) + j / 4) * nwg + workgroup) * 4 + j % 4;
  }
  [[nodiscard]] std::size_t sum_index(std::size_t row, std::size_t workgroup) const {
    return rows * head_dim * nwg + (row * nwg + workgroup) * 2;
  }
  [[nodiscard]] std::size_t max_index(std::size_t row, std::size_t workgroup) const { return sum_index(row, workgroup) + 1; }
};

// The attention output [rows, D] of raw partials, merged in double: sum_w O_w e^(M_w - M) / sum_w S_w e^(M_w - M), where M is the largest
// M_w; 0 if the denominator is 0. An attention kernel is judged by this merge, so that a wrong reduce kernel does not affect its verdict.
// If an element depends on an unwritten word (one equal to `unwritten_word`), the result is that NaN, widened by widen_nan(), so that the
// judge recognises it. `unwritten_words` counts the unwritten words of `raw`.
struct MergedPartials {
  std::vector<double> output;
  std::size_t unwritten_words = 0;
};
[[nodiscard]] MergedPartials merge_partials(const PartialsShape& shape, std::span<const float> raw, std::uint32_t unwritten_word);

// The same for partial results in double, from shadows. An unwritten number is widen_nan(unwritten_word).
[[nodiscard]] MergedPartials merge_partials(const PartialsShape& shape, std::span<const double> raw, std::uint32_t unwritten_word);

// Adds the rounding error of merge_partials to the bounds of an attention output: double rounding of NWG terms.
void widen_for_merge(Expected& expected, std::size_t nwg);

// The NaN `word` of float, widened to double by moving its bits (as hardware converts a quiet NaN).
[[nodiscard]] double widen_nan(std::uint32_t word);

}  // namespace assay::oracles
