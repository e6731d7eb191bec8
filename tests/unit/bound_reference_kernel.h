// The decode contract once more, in plain float loops: a right kernel in several orders of summation, and wrong ones.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "oracles/attention.h"

namespace assay::tests {

// How the terms of a sum are put together.
enum class Order { contract, sequential, reversed, pairwise };

// A mistake of the kind that real kernels have had.
enum class Mistake {
  none,
  scale_off,          // scale * (1 + 1e-5)
  query_not_rounded,  // q kept in float
  newest_dropped,     // n - 1 positions
  oldest_dropped,     // the position at ring_start skipped
  window_too_wide,    // one position more
  window_too_narrow,  // one position less
  neighbour_k_norm,   // norm of the next slot
  neighbour_v_norm,
  nibbles_swapped,
  wrong_head,  // h % G instead of h / (H / G)
  no_rescale,  // accumulator not scaled when the maximum grows
  sum_not_rescaled,
  maximum_from_zero,  // M starts at 0
  maximum_from_half,  // M starts at -32752
  last_chunk_lost,
  half_accumulator,    // output accumulated in half
  half_weights,        // weights rounded to half
  one_centroid_off,    // 0.1283950 written as 0.1283905
  no_maximum,          // exp(score) without subtracting M
  ring_ignored,        // ring_start taken as 0
  workgroup_lost,      // the last workgroup that has chunks writes idle partials
  norm_threshold,      // norms below 1e-30 count as zero
  reads_past_end,      // slots >= n of the last chunk are read like any other
  chunks_not_skipped,  // wholly masked chunks are read
  unnormalised,        // no division by S
  first_block_norm,    // the norm of block 0 for all coordinates
  norm_by_division,    // norm * norm / norm: NaN for a norm of 0
};

struct ReferenceOptions {
  std::size_t nwg = 1;
  Order dot = Order::contract;
  Order values = Order::contract;  // within a chunk
  bool key_after_key = false;      // each is added to the output and the denominator, and no sum of the chunk is made before
  bool chunks_backwards = false;
  oracles::OutputFormat keys = oracles::float_format();    // to which dequantised keys are rounded
  oracles::OutputFormat stored = oracles::float_format();  // and values
  int exp_steps = 0;  // every exp(x), x != 0, lands this many floats off, up or down by the last bit of x
  Mistake mistake = Mistake::none;
};

// nwg = 1: the output [H, D]. Else raw partials in the layout of oracles::PartialsShape.
[[nodiscard]] std::vector<float> reference_decode(const oracles::DecodeShape& shape, std::span<const float> q,
                                                  const oracles::TurboQuantCache& cache, const ReferenceOptions& options = {});

// The sum of `terms` in float in that order; `contract` is that of 32 lanes which own float4 columns.
[[nodiscard]] float sum_in_order(std::span<const float> terms, Order order);

}  // namespace assay::tests
