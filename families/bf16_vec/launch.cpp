// Validates parameters of `bf16_vec` and encodes its dispatch.
#include "families/bf16_vec/launch.h"

#include <fmt/format.h>

#include <stdexcept>

#include "families/shared/refusal.h"

namespace assay::families {

std::uint32_t bf16_vec_nsg(const Bf16VecParameters& parameters) { return parameters.nsg.value_or(kBf16VecDefaultNsg); }

void validate_bf16_vec(const Bf16VecParameters& parameters) {
  require_bf16_shape(parameters.attention, metal::ScalarType::float32);
  const std::uint32_t nsg = bf16_vec_nsg(parameters);
  if (nsg != 1 && nsg != 2 && nsg != 4) throw std::invalid_argument(fmt::format("nsg = {}: must be 1, 2 or 4", nsg));
}

void encode_bf16_vec(metal::ComputeEncoder& encoder, const kernels::BoundKernel& kernel, const Bf16VecParameters& parameters,
                     const Bf16Tensors& given) {
  validate_bf16_vec(parameters);
  const Bf16Parameters& p = parameters.attention;
  const Bf16Tensors tensors = require_bf16_tensors(p, given);
  if (p.has_mask() && tensors.mask == tensors.q) {
    throw std::invalid_argument(
        fmt::format("mask: bound to the same address as q (offset {}), which tells the kernel that there is no mask", tensors.mask.offset));
  }
  const std::uint32_t nsg = bf16_vec_nsg(parameters);

  kernel.set_pipeline(encoder);
  kernel.set_parameters(encoder, bf16_fields(p));
  kernel.set_buffer(encoder, "q", tensors.q);
  kernel.set_buffer(encoder, "k", tensors.k);
  kernel.set_buffer(encoder, "v", tensors.v);
  kernel.set_buffer(encoder, "mask", p.has_mask() ? tensors.mask : tensors.q);
  kernel.set_buffer(encoder, "dst", tensors.dst);
  // The query in bfloat; for every simdgroup 32 scores and 32 mask values in float, and the output in bfloat.
  kernel.set_threadgroup_memory(encoder, 1024 + std::size_t{nsg} * 256 + std::size_t{nsg} * 1024);
  encoder.dispatch_threadgroups({p.queries, p.n_heads, p.batches}, {32, nsg, 1});
}

}  // namespace assay::families
