// Validates parameters of `bf16_vec` and encodes its dispatch.
#include "families/bf16_vec/launch.h"

#include <fmt/format.h>

#include <stdexcept>

#include "families/described_launch.h"

namespace assay::families {

std::uint32_t bf16_vec_nsg(const Bf16VecParameters& parameters) { return parameters.nsg.value_or(kBf16VecDefaultNsg); }

void validate_bf16_vec(const Bf16VecParameters& parameters) {
  require_bf16_shape(parameters.attention, metal::ScalarType::float32);
  const std::uint32_t nsg = bf16_vec_nsg(parameters);
  if (nsg != 1 && nsg != 2 && nsg != 4 && !parameters.attention.is_beyond)
    throw std::invalid_argument(fmt::format("nsg = {}: must be 1, 2 or 4", nsg));
}

kernels::FieldValues bf16_vec_values(const Bf16VecParameters& parameters) {
  kernels::FieldValues values = bf16_fields(parameters.attention);
  values.emplace("nsg", metal::FieldValue::of(bf16_vec_nsg(parameters)));
  return values;
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
  encode_launch(encoder, "bf16_vec", bf16_vec_values(parameters), [&](const LaunchedFunction&) { return &kernel; },
                {{"q", tensors.q}, {"k", tensors.k}, {"v", tensors.v}, {"mask", tensors.mask}, {"dst", tensors.dst}});
}

}  // namespace assay::families
