// The refusals that launch functions share: each throws std::invalid_argument with the field's name and both values.
#pragma once

#include <cstdint>
#include <string_view>

#include "metal/buffer.h"

namespace assay::families {

void require_head_dim(std::uint64_t head_dim);                       // 256 or 512
void require_positive(std::string_view field, std::uint64_t value);  // >= 1
void require_nwg(std::uint64_t nwg);                                 // 1 .. 32
void require_codebook_bits(std::uint64_t bits);                      // 4, 5, 6 or 8
// A position of a cache must be below its capacity; `unless` ends the sentence.
void require_slot(std::string_view field, std::uint64_t position, std::uint64_t capacity, std::string_view unless = {});
// Must be positive and finite at head_dim 512, where kernels use it; not checked at 256.
void require_scale_factor(float scale_factor_d512, std::uint64_t head_dim);
// The kernel's offsets must be able to address all `bytes` of the cache.
void require_reachable(std::string_view what, std::uint64_t bytes, std::uint32_t offset_bits);
// The view, with `bytes` as its needed size. Throws if its buffer has fewer bytes from the offset on. `shape` describes the contents
// by the contract.
[[nodiscard]] metal::BufferView require_size(std::string_view argument, metal::BufferView view, std::uint64_t bytes,
                                             std::string_view shape);

// A view for an argument of which the kernel uses no byte.
[[nodiscard]] inline metal::BufferView placeholder(metal::BufferView view) { return {view.buffer, view.offset, 0}; }

}  // namespace assay::families
