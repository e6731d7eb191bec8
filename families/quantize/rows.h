// The results of quantising one token, as rows of numbers that judge() can compare: indices, norms and, with the probe,
// the quantiser inputs.
//
// One row per key/value head: D indices as the numbers 0 .. 2^bits - 1, then D / 256 norms, then, with the probe, D quantiser inputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "oracles/expected.h"
#include "oracles/quantize.h"

namespace assay::families {

struct QuantizedRows {
  std::size_t head_dim = 0;  // D
  bool has_inputs = false;   // whether the rows end with D quantiser inputs

  [[nodiscard]] std::size_t blocks() const { return head_dim / 256; }
  [[nodiscard]] std::size_t length() const { return head_dim + blocks() + (has_inputs ? head_dim : 0); }

  // Whether the number at this place of a row is an index.
  [[nodiscard]] bool is_index(std::size_t place) const { return place < head_dim; }
  // "index of coordinate 3", "norm of block 1", "quantiser input of coordinate 3".
  [[nodiscard]] std::string describe(std::size_t place) const;
};

// The rows of the exact result. If only one index is right, it has no tolerance. If every index in lowest .. highest is right,
// value and bound are the middle of this range and a half-width that ends halfway to the nearest wrong indices. So right indices
// are inside the bound and wrong ones outside. The magnitude is the largest index, so that an index with several right values
// counts as uninformative.
[[nodiscard]] oracles::Expected expected_rows(const QuantizedRows& rows, const oracles::QuantizedToken& token, int bits);

// The same rows for a kernel's output: `indices` [G, D] (metal::kPoisonWord as a float where unwritten), `norms` [G, D / 256], `inputs`
// [G, D], empty without the probe.
[[nodiscard]] std::vector<float> actual_rows(const QuantizedRows& rows, std::span<const float> indices, std::span<const float> norms,
                                             std::span<const float> inputs);
// The same rows for the values without rounding.
[[nodiscard]] std::vector<double> actual_rows(const QuantizedRows& rows, std::span<const double> indices, std::span<const double> norms,
                                              std::span<const double> inputs);

}  // namespace assay::families
