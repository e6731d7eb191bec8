// Validates parameters of `dequantize` and encodes its dispatch.
#include "families/dequantize/launch.h"

#include "base/code_bytes.h"
#include "families/shared/refusal.h"

namespace assay::families {

std::string dequantize_entry_key(std::uint32_t codebook_bits) {
  require_codebook_bits(codebook_bits);
  return codebook_bits == 4 ? "4bit" : "hb";
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
  const std::uint32_t norms_per_pos = parameters.head_dim / 256;
  const metal::BufferView packed = require_size(
      "packed", buffers.packed, slots * base::code_bytes(parameters.codebook_bits, parameters.head_dim),
      parameters.codebook_bits == 4 ? "u8 [num_kv_heads, cache_capacity, head_dim / 2]" : "u8 [num_kv_heads, cache_capacity, head_dim]");
  const metal::BufferView norms =
      require_size("norms", buffers.norms, slots * norms_per_pos * 4, "f32 [num_kv_heads, cache_capacity, head_dim / 256]");
  const metal::BufferView dst =
      require_size("dst", buffers.dst, std::uint64_t{parameters.num_kv_heads} * parameters.head_dim * 4, "f32 [num_kv_heads, head_dim]");

  using metal::FieldValue;
  kernel.set_pipeline(encoder);
  kernel.set_parameters(encoder, {
                                     {"head_dim", FieldValue::of(parameters.head_dim)},
                                     {"num_kv_heads", FieldValue::of(parameters.num_kv_heads)},
                                     {"read_pos", FieldValue::of(parameters.read_pos)},
                                     {"cache_capacity", FieldValue::of(parameters.cache_capacity)},
                                     {"norms_per_pos", FieldValue::of(norms_per_pos)},
                                     {"scale_factor_d512", FieldValue::of(parameters.scale_factor_d512)},
                                     {"codebook_bits", FieldValue::of(parameters.codebook_bits)},
                                 });
  kernel.set_buffer(encoder, "packed", packed);
  kernel.set_buffer(encoder, "norms", norms);
  kernel.set_buffer(encoder, "dst", dst);
  kernel.set_threadgroup_memory(encoder, 0);
  encoder.dispatch_threadgroups({parameters.num_kv_heads, 1, 1}, {parameters.head_dim, 1, 1});
}

}  // namespace assay::families
