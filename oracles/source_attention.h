// The source level: attention on queries, keys and values as they were before a cache stored them, and what storing them is expected to
// cost. Nothing here judges a kernel; the derivation is in README.md, "Source level".
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "oracles/attention.h"

namespace assay::oracles {

// All rotated or none: a rotation leaves scores as they are and turns outputs along.
struct SourceRows {
  std::span<const double> q;  // [H, D]
  std::span<const double> k;  // [G, cap, D]; only visible slots of shape are read
  std::span<const double> v;  // likewise
};

// The exact attention output [H, D]; q is not rounded. shape.fused_rotation is ignored. Throws std::invalid_argument with the offending
// values if shape and spans do not fit together, or if something visible is not finite.
[[nodiscard]] std::vector<double> source_attention(const DecodeShape& shape, const SourceRows& rows);

// How a cache keeps a row: a norm for every `block_dim` coordinates, and coordinates by a codebook.
struct StorageModel {
  double distortion = 0;      // of the codebook: mean_squared_error() in codebook_theory.h
  std::size_t block_dim = 0;  // coordinates that share a norm, divides D
};

// For each head |o' - o|, the length of what storage adds to its output, under the model that the quantiser's errors are independent of
// each other, as they are for rows whose rotated coordinates are independent and about normal. `rows` must be rotated.

// The root of its mean square, to first order in the errors: [H].
[[nodiscard]] std::vector<double> expected_storage_error(const DecodeShape& shape, const SourceRows& rows, const StorageModel& model);

// What it exceeds in one of 25,000 draws of the rows at most: [H]. Throws std::invalid_argument as source_attention() does, or if
// block_dim does not divide D or the distortion is not in [0, 1].
[[nodiscard]] std::vector<double> storage_error_bound(const DecodeShape& shape, const SourceRows& rows, const StorageModel& model);

}  // namespace assay::oracles
