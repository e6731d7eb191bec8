// Partial results of a decode attention that was split over NWG workgroups: their layout, and their exact merge.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "oracles/expected.h"

namespace assay::oracles {

// `raw` is float: first O, interleaved by float4 (element j of row r of workgroup w at
// (r * D/4 * NWG + NWG * (j/4) + w) * 4 + j%4), then from offset rows * D * NWG on the pairs S, M at r * 2 * NWG + 2 * w.
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

// The attention output [rows, D] that raw partials stand for, merged in double: sum_w O_w e^(M_w - M) / sum_w S_w e^(M_w - M),
// 0 where that denominator is 0. Judging this instead of the reduce kernel's output keeps a wrong reduce out of the
// attention verdict. Wherever an element rests on a word equal to `unwritten_word`, it is that NaN, widened to double bit by
// bit, so that the judge still sees it was never written. `unwritten_words` counts such words among the raw ones.
struct MergedPartials {
  std::vector<double> output;
  std::size_t unwritten_words = 0;
};
[[nodiscard]] MergedPartials merge_partials(const PartialsShape& shape, std::span<const float> raw, std::uint32_t unwritten_word);

// The same of partials in double, what float ones would be without rounding say; a number never written is that NaN, widened.
[[nodiscard]] MergedPartials merge_partials(const PartialsShape& shape, std::span<const double> raw, std::uint32_t unwritten_word);

// Adds to the bounds of an attention output what merge_partials itself may err: double rounding of NWG terms.
void widen_for_merge(Expected& expected, std::size_t nwg);

// The NaN `word` of float, widened to double by moving its bits (what hardware does with a quiet NaN).
[[nodiscard]] double widen_nan(std::uint32_t word);

}  // namespace assay::oracles
