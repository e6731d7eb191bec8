// Attention on unquantised queries, keys and values, and the expected error of storing them. Nothing here judges a kernel; README.md,
// "Source level", has the derivation.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "oracles/attention.h"

namespace assay::oracles {

// Either all are rotated or none is: a rotation does not change scores, and rotates outputs.
struct SourceRows {
  std::span<const double> q;  // [H, D]
  std::span<const double> k;  // [G, cap, D]; only visible slots of shape are read
  std::span<const double> v;  // likewise
};

// The exact attention output [H, D]; q is not rounded. shape.fused_rotation is ignored. Throws std::invalid_argument with the offending
// values if shape and spans do not fit together, or if something visible is not finite.
[[nodiscard]] std::vector<double> source_attention(const DecodeShape& shape, const SourceRows& rows);

// How a cache stores a row: a norm per `block_dim` coordinates, and indices of a codebook.
struct StorageModel {
  double distortion = 0;      // of the codebook: mean_squared_error() in codebook_theory.h
  std::size_t block_dim = 0;  // coordinates that share a norm, divides D
};

// For each head |o' - o|, the length of the error that storage adds to its output. The model assumes that quantiser errors are independent,
// which holds for rows whose rotated coordinates are independent and approximately normal. `rows` must be rotated.

// The root of its mean square, to first order in the errors: [H].
[[nodiscard]] std::vector<double> expected_storage_error(const DecodeShape& shape, const SourceRows& rows, const StorageModel& model);

// The value that it exceeds in at most one of 25,000 random draws of the rows: [H]. Throws std::invalid_argument like source_attention(),
// or if block_dim does not divide D or the distortion is not in [0, 1].
[[nodiscard]] std::vector<double> storage_error_bound(const DecodeShape& shape, const SourceRows& rows, const StorageModel& model);

}  // namespace assay::oracles
