// Launch code of family `dequantize`: one position of a cache as float, still rotated.
#pragma once

#include <cstdint>

#include "kernels/binding.h"
#include "metal/buffer.h"
#include "metal/devices/encoder.h"

namespace assay::families {

// Names as in the kernels' structs; norms_per_pos follows from head_dim.
struct DequantizeParameters {
  std::uint32_t head_dim = 0;        // D, 256 or 512
  std::uint32_t num_kv_heads = 0;    // G >= 1
  std::uint32_t read_pos = 0;        // the slot, below cap
  std::uint32_t cache_capacity = 0;  // cap >= 1
  float scale_factor_d512 = 1.0F;    // divides the norms of blocks at D = 512; ignored at 256
  std::uint32_t codebook_bits = 4;   // 4: two indices per byte; 5, 6, 8: one
  std::uint32_t offset_bits = 32;    // width of the kernel's cache offsets, in bits (variant.toml)
};

struct DequantizeBuffers {
  metal::BufferView packed;  // u8 [G, cap, D/2] with 4 bits, [G, cap, D] with more
  metal::BufferView norms;   // f32 [G, cap, D/256]
  metal::BufferView dst;     // f32 [G, D]
};

// The values of all fields of the kernels' structs.
[[nodiscard]] kernels::FieldValues dequantize_values(const DequantizeParameters& parameters);

// Throws std::invalid_argument, naming the field and its value, for parameters with which no kernel may run. encode_dequantize()
// does the same.
void validate(const DequantizeParameters& parameters);

// One threadgroup of D threads per head. Throws std::invalid_argument, naming the field and both values, before anything is encoded.
void encode_dequantize(metal::ComputeEncoder& encoder, const kernels::BoundKernel& kernel, const DequantizeParameters& parameters,
                       const DequantizeBuffers& buffers);

}  // namespace assay::families
