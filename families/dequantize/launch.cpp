// Validates parameters of `dequantize` and encodes its dispatch.
#include "families/dequantize/launch.h"

#include "base/code_bytes.h"
#include "families/described_launch.h"
#include "families/shared/refusal.h"

namespace assay::families {

kernels::FieldValues dequantize_values(const DequantizeParameters& parameters) {
  using metal::FieldValue;
  return {
      {"head_dim", FieldValue::of(parameters.head_dim)},
      {"num_kv_heads", FieldValue::of(parameters.num_kv_heads)},
      {"read_pos", FieldValue::of(parameters.read_pos)},
      {"cache_capacity", FieldValue::of(parameters.cache_capacity)},
      {"norms_per_pos", FieldValue::of(parameters.head_dim / 256)},
      {"scale_factor_d512", FieldValue::of(parameters.scale_factor_d512)},
      {"codebook_bits", FieldValue::of(parameters.codebook_bits)},
  };
}

void validate(const DequantizeParameters& p) {
  require_head_dim(p.head_dim);
  require_positive("num_kv_heads", p.num_kv_heads);
  require_positive("cache_capacity", p.cache_capacity);
  require_codebook_bits(p.codebook_bits);
  require_slot("read_pos", p.read_pos, p.cache_capacity);
  require_scale_factor(p.scale_factor_d512, p.head_dim);
  require_reachable("num_kv_heads * cache_capacity * bytes of a row",
                    std::uint64_t{p.num_kv_heads} * p.cache_capacity * base::code_bytes(p.codebook_bits, p.head_dim), p.offset_bits);
}

void encode_dequantize(metal::ComputeEncoder& encoder, const kernels::BoundKernel& kernel, const DequantizeParameters& parameters,
                       const DequantizeBuffers& buffers) {
  validate(parameters);
  const std::uint64_t slots = std::uint64_t{parameters.num_kv_heads} * parameters.cache_capacity;
  const metal::BufferView packed = require_size(
      "packed", buffers.packed, slots * base::code_bytes(parameters.codebook_bits, parameters.head_dim),
      parameters.codebook_bits == 4 ? "u8 [num_kv_heads, cache_capacity, head_dim / 2]" : "u8 [num_kv_heads, cache_capacity, head_dim]");
  const metal::BufferView norms =
      require_size("norms", buffers.norms, slots * (parameters.head_dim / 256) * 4, "f32 [num_kv_heads, cache_capacity, head_dim / 256]");
  const metal::BufferView dst =
      require_size("dst", buffers.dst, std::uint64_t{parameters.num_kv_heads} * parameters.head_dim * 4, "f32 [num_kv_heads, head_dim]");

  encode_launch(encoder, "dequantize", dequantize_values(parameters), [&](const LaunchedFunction&) { return &kernel; },
                {{"packed", packed}, {"norms", norms}, {"dst", dst}});
}

}  // namespace assay::families
