// Validates parameters of `quantize` and encodes its dispatch.
#include "families/quantize/launch.h"

#include <fmt/format.h>

#include <stdexcept>

#include "base/code_bytes.h"
#include "families/described_launch.h"
#include "families/shared/refusal.h"

namespace assay::families {
namespace {

// Returns the buffers with the bytes that are needed of each.
QuantizeBuffers require_buffers(const QuantizeParameters& p, QuantizeBuffers buffers) {
  const std::uint64_t slots = std::uint64_t{p.num_kv_heads} * p.cache_capacity;
  const std::uint64_t row_bytes = std::uint64_t{p.num_kv_heads} * p.head_dim * 4;
  buffers.src = require_size("src", buffers.src, row_bytes, "f32 [num_kv_heads, head_dim]");
  buffers.packed = require_size(
      "packed", buffers.packed, slots * base::code_bytes(p.codebook_bits, p.head_dim),
      p.codebook_bits == 4 ? "u8 [num_kv_heads, cache_capacity, head_dim / 2]" : "u8 [num_kv_heads, cache_capacity, head_dim]");
  buffers.norms =
      require_size("norms", buffers.norms, slots * (p.head_dim / 256) * 4, "f32 [num_kv_heads, cache_capacity, head_dim / 256]");
  buffers.rms_scratch = p.rms_probe_enabled ? require_size("rms_scratch", buffers.rms_scratch, row_bytes, "f32 [num_kv_heads, head_dim]")
                                            : placeholder(buffers.norms);
  return buffers;
}

}  // namespace

kernels::FieldValues quantize_values(const QuantizeParameters& parameters) {
  using metal::FieldValue;
  return {
      {"head_dim", FieldValue::of(parameters.head_dim)},
      {"num_kv_heads", FieldValue::of(parameters.num_kv_heads)},
      {"write_pos", FieldValue::of(parameters.write_pos)},
      {"cache_capacity", FieldValue::of(parameters.cache_capacity)},
      {"is_sliding", FieldValue::of(std::uint32_t{parameters.is_sliding})},
      {"scale_factor_d512", FieldValue::of(parameters.scale_factor_d512)},
      {"rms_probe_enabled", FieldValue::of(std::uint32_t{parameters.rms_probe_enabled})},
      {"codebook_bits", FieldValue::of(parameters.codebook_bits)},
  };
}

void validate(const QuantizeParameters& p) {
  require_head_dim(p.head_dim);
  require_positive("num_kv_heads", p.num_kv_heads);
  require_positive("cache_capacity", p.cache_capacity);
  require_codebook_bits(p.codebook_bits);
  if (!p.is_sliding && !p.is_beyond) require_slot("write_pos", p.write_pos, p.cache_capacity, ", and is_sliding is not set");
  require_scale_factor(p.scale_factor_d512, p.head_dim);
  if (p.rms_probe_enabled && p.codebook_bits != 4) {
    throw std::invalid_argument(
        fmt::format("rms_probe_enabled = 1 with codebook_bits = {}: only the 4-bit kernels have the probe", p.codebook_bits));
  }
  require_reachable("num_kv_heads * cache_capacity * bytes of a row",
                    std::uint64_t{p.num_kv_heads} * p.cache_capacity * base::code_bytes(p.codebook_bits, p.head_dim), p.offset_bits);
}

void encode_quantize(metal::ComputeEncoder& encoder, const kernels::BoundKernel& kernel, const QuantizeParameters& parameters,
                     const QuantizeBuffers& given) {
  validate(parameters);
  const QuantizeBuffers buffers = require_buffers(parameters, given);
  if (parameters.rms_probe_enabled && !kernel.has("rms_scratch")) {
    throw std::invalid_argument("rms_probe_enabled = 1, but the kernel has no argument rms_scratch to write to");
  }

  encode_launch(encoder, "quantize", quantize_values(parameters), [&](const LaunchedFunction&) { return &kernel; },
                {{"src", buffers.src},
                 {"packed", buffers.packed},
                 {"norms", buffers.norms},
                 {"rms_scratch", buffers.rms_scratch},
                 {std::string(kernels::kNoBuffer), buffers.rms_scratch}});
}

}  // namespace assay::families
