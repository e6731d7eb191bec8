// What the helpers of bf16_prefill must leave behind, to the bit.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "families/broken_promise.h"
#include "families/job.h"
#include "fixtures/dense.h"

namespace assay::families {

// `pad` in 16-bit words: keys [B, G, 64, D] | values [B, G, 64, D] | mask [B', H', nq, 64]: the rows and columns of the last, ragged tile
// of 64 keys, with zeros and -65504 behind. The first word that is something else, nothing if there is none.
[[nodiscard]] std::optional<BrokenPromise> find_pad_fault(const fixtures::DenseRequest& request, const fixtures::DenseInputs& inputs,
                                                          std::span<const std::uint16_t> pad);

// `blk` [B', H', ceil(nq / 8), ceil(n / 64)]: 1 for the ragged last tile and where a mask value of the tile is above -32752, else 0; 2 is
// as good where every value of the tile is 0, because a kernel then computes without the mask.
[[nodiscard]] std::optional<BrokenPromise> find_blk_fault(const fixtures::DenseRequest& request, const fixtures::DenseInputs& inputs,
                                                          std::span<const std::uint8_t> blk);

[[nodiscard]] Job bf16_prefill_job(const JobRequest& request);

}  // namespace assay::families
