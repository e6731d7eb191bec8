// Launch code of family `bf16_vec`: few queries, one threadgroup of NSG simdgroups per query and head.
#pragma once

#include <cstdint>
#include <optional>

#include "families/shared/dense_launch.h"
#include "kernels/binding.h"
#include "metal/devices/encoder.h"

namespace assay::families {

inline constexpr std::uint32_t kBf16VecDefaultNsg = 4;

struct Bf16VecParameters {
  Bf16Parameters attention;          // q is float32
  std::optional<std::uint32_t> nsg;  // 1, 2 or 4; default kBf16VecDefaultNsg
};

// The number of simdgroups per threadgroup: `nsg`, or its default.
[[nodiscard]] std::uint32_t bf16_vec_nsg(const Bf16VecParameters& parameters);

// The values of all fields of the kernels' structs, and `nsg`.
[[nodiscard]] kernels::FieldValues bf16_vec_values(const Bf16VecParameters& parameters);

// Throws std::invalid_argument, naming the field and both values, for parameters with which no kernel may run.
void validate_bf16_vec(const Bf16VecParameters& parameters);

// Encodes the single dispatch. Without a mask, the mask argument gets the same view as q, by which the kernel recognises the case.
// Throws std::invalid_argument, before anything is encoded, like validate_bf16_vec(), for a tensor that is too small, and for a mask
// that is bound to the same place as q.
void encode_bf16_vec(metal::ComputeEncoder& encoder, const kernels::BoundKernel& kernel, const Bf16VecParameters& parameters,
                     const Bf16Tensors& tensors);

}  // namespace assay::families
