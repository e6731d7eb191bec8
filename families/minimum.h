// The minimum cost of a case for any kernel: the lower end of a roofline, for comparison with the counters of metal::Cost.
//
// Bytes: those of the inputs that must be read, and those of the output that must be written, at least once, in the stored formats. Not
// counted are buffers that a launch chooses (partial results, pad, blk) and arguments (parameters, tables). Operations: those of the
// definition, with norms and quotients factored out of the sums. A fused multiply-add counts as two, an exponential or a root as one;
// comparisons, signs and conversions do not count.
//
// Neither depends on the contents of the inputs, except for masks of bf16. A kernel that skips values because their weights are zero may
// read less. D is the head dimension, H the number of query heads, G of key/value heads, and b of norms per position and head (two at
// D = 512, if the layout has norms of blocks):
//
// tq4, tqhb   v visible positions: the window, if there is one that is shorter than n, else n.
//             read    4 H D + 2 G v (c + 4 b)       q; keys and values, c bytes of codes each: D/2 with 4 bits, else D
//             written 4 H D
//             flops   H v (4 D + 2 b + 3)           score: D products, D-1 sums, b products with the norms, 1 with the scale; weight: 1
//                                                   difference, 1 exponential, v-1 sums over all; output: b products with the norms, D v
//                                                   products and D (v-1) sums, 1 quotient, D products with it
//                     + H D (log2 D + 1)            if the kernel rotates q
// reduce      read    4 R W (D + 2)                 R rows of W partial results
//             written 4 R D
//             flops   R W (2 D + 4)                 W differences, exponentials and products, W-1 sums and a quotient; D W products,
//                                                   D (W-1) sums and D products with the quotient
// fwht        read and written the same 4 H D bytes; flops H D (log2 D + 1)
// quantize    read    4 G D
//             written G (c + 4 D/256)               and 4 G D more with the probe
//             flops   G (D (log2 D + 1) + 3 D + D/256)   rotation; for each block of 256 the squares, 255 sums, a root, a quotient and
//                                                   256 products
// dequantize  read    G (c + 4 D/256)
//             written 4 G D
//             flops   G (D + D/256)
// bf16_*      D = 512; s query rows that see a key, p visible pairs of a query row and a key, k rows of keys that any query sees
//             read    e s D + 4 k D + 2 m           q, e bytes per element (2, bf16_vec 4); keys and values; the m elements of the mask
//             written 2 B H Q D                     Q queries in each of B batches
//             flops   p (4 D + 3), and p more with a mask
#pragma once

#include <bit>
#include <cstdint>

#include "base/archive.h"

namespace assay::families {

struct Minimum {
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_written = 0;
  std::uint64_t distinct_bytes = 0;  // the sum of both, except where the output replaces the input
  std::uint64_t flops = 0;
  friend bool operator==(const Minimum&, const Minimum&) = default;
};

// Archives for other processes (base/archive.h).
void fields(auto& archive, base::OneOf<Minimum> auto& value) {
  auto& [bytes_read, bytes_written, distinct_bytes, flops] = value;
  each(archive, bytes_read, bytes_written, distinct_bytes, flops);
}

namespace minimum {

inline constexpr std::uint64_t kFloat = 4;  // bytes
inline constexpr std::uint64_t kBfloat = 2;
inline constexpr std::uint64_t kHalf = 2;
inline constexpr std::uint64_t kBlock = 256;  // coordinates that share a norm

[[nodiscard]] inline Minimum of(std::uint64_t bytes_read, std::uint64_t bytes_written, std::uint64_t flops) {
  return {bytes_read, bytes_written, bytes_read + bytes_written, flops};
}
// Operations per row; head_dim must be a power of two.
[[nodiscard]] inline std::uint64_t rotation_flops(std::uint64_t head_dim) {
  return head_dim * (static_cast<std::uint64_t>(std::countr_zero(head_dim)) + 1);
}

}  // namespace minimum
}  // namespace assay::families
