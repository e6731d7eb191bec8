// Launch code of family `bf16_prefill`: many queries, in tiles of 8 queries x 64 keys, with the helpers `bf16_pad` and `bf16_blk`.
#pragma once

#include <cstdint>
#include <map>

#include "families/shared/dense_launch.h"
#include "kernels/binding.h"
#include "metal/buffer.h"
#include "metal/devices/encoder.h"

namespace assay::families {

inline constexpr std::uint32_t kBf16TileQueries = 8;
inline constexpr std::uint32_t kBf16TileKeys = 64;

// Values of a kernel's function constants, by index.
using FunctionConstants = std::map<std::uint32_t, metal::FunctionConstant>;

// 300: there is a mask. 304: the last key tile is ragged and is read from `pad`.
[[nodiscard]] FunctionConstants bf16_prefill_constants(bool has_mask, bool is_ragged);
// 100: there is a mask.
[[nodiscard]] FunctionConstants bf16_pad_constants(bool has_mask);

struct Bf16PrefillKernels {
  const kernels::BoundKernel& attention;
  const kernels::BoundKernel* pad = nullptr;  // needed if n is not a multiple of 64
  const kernels::BoundKernel* blk = nullptr;  // needed with a mask
};

struct Bf16PrefillBuffers {
  Bf16Tensors tensors;
  metal::BufferView pad;  // bf16_pad_bytes(), used if n is not a multiple of 64
  metal::BufferView blk;  // bf16_blk_bytes(), used with a mask
};

// Whether n is not a multiple of 64, so that the last key tile is read from `pad`.
[[nodiscard]] bool is_ragged(const Bf16Parameters& parameters);

// K block [B, G, 64] of rows of nb11 bytes | V block [B, G, 64] of rows of nb21 bytes | mask block half [B', H', nq, 64].
[[nodiscard]] std::uint64_t bf16_pad_bytes(const Bf16Parameters& parameters);
// u8 [B', H', ceil(nq / 8), ceil(n / 64)].
[[nodiscard]] std::uint64_t bf16_blk_bytes(const Bf16Parameters& parameters);

// Throws std::invalid_argument, naming the field and both values, for parameters with which no kernel may run.
void validate_bf16_prefill(const Bf16Parameters& parameters);

// Encodes the required helpers, a memory barrier, and the attention dispatch. Arguments without a tensor get q as a dummy. Throws
// std::invalid_argument, before anything is encoded, like validate_bf16_prefill(), and for a buffer that is too small, a missing
// helper, and kernels that were compiled for other function constants.
void encode_bf16_prefill(metal::ComputeEncoder& encoder, const Bf16PrefillKernels& kernels, const Bf16Parameters& parameters,
                         const Bf16PrefillBuffers& buffers);

}  // namespace assay::families
