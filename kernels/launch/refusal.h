// The refusals that launch functions share: std::invalid_argument with the field's name and both values.
#pragma once

#include <cstdint>
#include <string_view>

#include "metal/buffer.h"

namespace assay::kernels {

void require_head_dim(std::uint64_t head_dim);                       // 256 or 512
void require_positive(std::string_view field, std::uint64_t value);  // >= 1
void require_nwg(std::uint64_t nwg);                                 // 1 .. 32
// A buffer that holds at least `bytes` from its view's offset on; `shape` says what the contract stores there.
void require_size(std::string_view argument, metal::BufferView view, std::uint64_t bytes, std::string_view shape);

}  // namespace assay::kernels
