// Starts the Hadamard transform of kernels/hadamard_threadgroup.
#pragma once

#include <cstdint>

#include "metal/devices/encoder.h"

// In place over `rows`, f32 [num_heads, head_dim] from the view's offset on. head_dim is 256 or 512, num_heads at least 1; throws
// std::invalid_argument otherwise, and then nothing was encoded.
void encode_hadamard(assay::metal::ComputeEncoder& encoder, std::uint32_t num_heads, std::uint32_t head_dim, assay::metal::BufferView rows);
