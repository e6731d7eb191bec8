// Launch code of family `bf16_prefill`: many queries, in tiles of 8 queries x 64 keys, with the helpers `bf16_pad` and `bf16_blk`.
#pragma once

#include <cstdint>

#include "families/shared/dense_launch.h"
#include "kernels/binding.h"
#include "metal/buffer.h"
#include "metal/devices/encoder.h"

namespace assay::families {

inline constexpr std::uint32_t kBf16TileKeys = 64;

struct Bf16PrefillKernels {
  const kernels::BoundKernel& attention;
  const kernels::BoundKernel* pad = nullptr;  // needed if n is not a multiple of 64
  const kernels::BoundKernel* blk = nullptr;  // needed with a mask
};

struct Bf16PrefillBuffers {
  Bf16Tensors tensors;
  metal::BufferView pad;  // see launch.toml, used if n is not a multiple of 64
  metal::BufferView blk;  // see launch.toml, used with a mask
};

// Whether n is not a multiple of 64, so that the last key tile is read from `pad`.
[[nodiscard]] bool is_ragged(const Bf16Parameters& parameters);

// Throws std::invalid_argument, naming the field and both values, for parameters with which no kernel may run.
void validate_bf16_prefill(const Bf16Parameters& parameters);

// Encodes the required helpers, a memory barrier, and the attention dispatch. Arguments without a tensor get q as a dummy. Throws
// std::invalid_argument, before anything is encoded, like validate_bf16_prefill(), and for a buffer that is too small, a missing
// helper, and kernels that were compiled for other function constants.
void encode_bf16_prefill(metal::ComputeEncoder& encoder, const Bf16PrefillKernels& kernels, const Bf16Parameters& parameters,
                         const Bf16PrefillBuffers& buffers);

}  // namespace assay::families
