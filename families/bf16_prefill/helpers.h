// Checks the results of the helpers of bf16_prefill, to the bit.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "families/job.h"
#include "fixtures/dense.h"

namespace assay::families {

// `pad` in 16-bit words: keys [B, G, 64, D] | values [B, G, 64, D] | mask [B', H', nq, 64]. It contains the rows and columns of the
// last, ragged tile of 64 keys, followed by zeros and -65504. Returns the first wrong word, or nothing.
// `shared`: the number of batches that have the same keys and values.
[[nodiscard]] std::optional<BrokenPromise> find_pad_fault(const fixtures::DenseRequest& request, const fixtures::DenseInputs& inputs,
                                                          const BufferResult& pad, std::size_t shared = 1);

// `blk` [B', H', ceil(nq / 8), ceil(n / 64)]: 1 for the ragged last tile and for tiles with a mask value above -32752, else 0. 2
// is also right where every value of the tile is 0, because a kernel then computes without the mask. Returns the first wrong
// class, or nothing.
[[nodiscard]] std::optional<BrokenPromise> find_blk_fault(const fixtures::DenseRequest& request, const fixtures::DenseInputs& inputs,
                                                          const BufferResult& blk);

[[nodiscard]] std::vector<Promise> bf16_prefill_promises();
[[nodiscard]] Job bf16_prefill_job(const JobRequest& request);

}  // namespace assay::families
