// The codebooks and sign bits of TurboQuant: data, lookup and quantiser boundaries.
#pragma once

#include <cstdint>
#include <span>

namespace assay::oracles {

// The 2^bits centroids, ascending and symmetric about zero, for a coordinate distributed as N(0, 1). `bits` is 4, 5, 6 or 8;
// anything else throws std::invalid_argument.
[[nodiscard]] std::span<const float> codebook(int bits);

// The largest centroid of that codebook.
[[nodiscard]] double largest_centroid(int bits);

// The sign table of the rotation: head_dim / 8 bytes for head_dim 256 or 512 (else std::invalid_argument); bit j is bit j % 8 of byte j
// / 8.
[[nodiscard]] std::span<const std::uint8_t> sign_bits(int head_dim);

// s_j of that table: -1 where the bit is set, else +1. `j` must be below head_dim.
[[nodiscard]] double rotation_sign(int head_dim, int j);

// Number of boundaries strictly below `x`; boundary i is the float 0.5f * (c_i + c_{i+1}), and a tie goes down.
[[nodiscard]] std::uint8_t quantize_coordinate(std::span<const float> centroids, double x);

}  // namespace assay::oracles
