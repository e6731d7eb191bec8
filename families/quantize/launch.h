// Launch code of family `quantize`: one token per key/value head, rotated, normalised, quantised and written into a cache.
#pragma once

#include <cstdint>

#include "kernels/binding.h"
#include "metal/buffer.h"
#include "metal/devices/encoder.h"

namespace assay::families {

// Names as in the kernels' structs.
struct QuantizeParameters {
  std::uint32_t head_dim = 0;        // D, 256 or 512
  std::uint32_t num_kv_heads = 0;    // G >= 1
  std::uint32_t write_pos = 0;       // the slot; below cap, except that is_sliding takes it modulo cap
  std::uint32_t cache_capacity = 0;  // cap >= 1
  bool is_sliding = false;
  float scale_factor_d512 = 1.0F;   // factor of the quantiser input at D = 512; ignored at 256
  std::uint32_t codebook_bits = 4;  // 4: two indices per byte; 5, 6, 8: one
  bool rms_probe_enabled = false;   // whether the kernel also writes the quantiser inputs; 4 bits only
  std::uint32_t offset_bits = 32;   // width of the kernel's cache offsets, in bits (variant.toml)
  bool is_beyond = false;           // whether a write_pos behind the cache is not refused (families/omission.h)
};

struct QuantizeBuffers {
  metal::BufferView src;          // f32 [G, D], not rotated
  metal::BufferView packed;       // u8 [G, cap, D/2] with 4 bits, [G, cap, D] with more
  metal::BufferView norms;        // f32 [G, cap, D/256]
  metal::BufferView rms_scratch;  // f32 [G, D], used with the probe only
};

// The values of all fields of the kernels' structs.
[[nodiscard]] kernels::FieldValues quantize_values(const QuantizeParameters& parameters);

// Throws std::invalid_argument, naming the field and its value, for parameters with which no kernel may run. encode_quantize()
// does the same.
void validate(const QuantizeParameters& parameters);

// One threadgroup of 32 threads per head. Without the probe, `norms` is bound instead of rms_scratch, which the 4-bit kernel declares
// but then does not access. Throws std::invalid_argument, naming the field and both values, before anything is encoded.
void encode_quantize(metal::ComputeEncoder& encoder, const kernels::BoundKernel& kernel, const QuantizeParameters& parameters,
                     const QuantizeBuffers& buffers);

}  // namespace assay::families
