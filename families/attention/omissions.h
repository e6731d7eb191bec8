// What the contract of family `attention` leaves out.
#pragma once

#include <vector>

#include "families/shared/omissions.h"

namespace assay::families {

[[nodiscard]] inline std::vector<Omission> attention_omissions() {
  return {
      {.id = "same_bits_for_every_blocks",
       .sentence = "`blocks` changes the launch only. Results with different values are compared with the oracle, and not with each other.",
       .ability = "give the same bits for every number of blocks",
       .same_bits = SameBits{"blocks", {1, 2, 3, 8, 16, 32}}},
      {.id = "same_bits_for_every_nsg",
       .sentence = "`nsg` changes the launch only. Results with different values are compared with the oracle, and not with each other.",
       .ability = "give the same bits for every nsg",
       .same_bits = SameBits{"nsg", {1, 2, 4, 8, 32}}},
      omitted_schedules(),
      {.id = "softcaps", .sentence = "The softcap is 0, 30 or 50, unless `[limits]` has another one. No score is beyond the largest half."},
      {.id = "low_scores",
       .sentence = "Beside a soft cap or sinks, no query has scores below -300 only. Without them, those of `below_sentinels` are about "
                   "-40,000 and not lower."},
      {.id = "mask_with_causal",
       .sentence = "A stored mask is added to no causal mask and to no window, except that of ALiBi. Windows have one side."},
      {.id = "finite_masks", .sentence = "An additive mask hides with minus infinity, never with a finite number."},
      {.id = "slopes", .sentence = "Slopes of ALiBi are those of `max_bias`, and no slope is 0."},
      {.id = "ragged_alibi",
       .sentence = "In a ragged batch, ALiBi has one query and no sinks: from where distances count is then the same for all weights."},
      {.id = "scales", .sentence = "The scale is 1 / sqrt(dk) or 1."},
      {.id = "offsets", .sentence = "Offsets are `lk - lq` (in a ragged batch, the batch's own), 0, and half of `lk - lq`."},
      {.id = "longest_batch", .sentence = "In a ragged batch, the last batch is the longest."},
      {.id = "partial_ring", .sentence = "A ring is full of its keys from its start on; its other slots are NaN. Positions wrap once."},
      {.id = "block_tables",
       .sentence = "Entries of the block table behind the end of a batch are valid. Batches share their first page only."},
      {.id = "mask_bytes", .sentence = "Boolean masks hold the bytes 0 and 1 only."},
      {.id = "infinite_inputs", .sentence = "Inputs that a kernel may use are finite."},
      {.id = "long_contexts",
       .sentence =
           "The gate has at most 65,600 keys, queries of a head, and rows of all heads and batches; the suite `long` has 2^20 keys. No "
           "output has more than 2^31 bytes. Offsets beyond 2^32 bytes have one term each: batch, "
           "head, key, block. Those of masks are below 2^32, and rows of a mask near each other. An offset in int that counts "
           "elements exceeds it with half and bfloat, not with float."},
      {.id = "alignment", .sentence = "Gaps are multiples of 16 bytes, and all rows begin at multiples of their element."},
  };
}

}  // namespace assay::families
