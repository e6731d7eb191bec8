// Launch code of family `reduce`: merges the partial attention results of NWG workgroups.
#pragma once

#include <cstdint>

#include "kernels/binding.h"
#include "metal/buffer.h"
#include "metal/devices/encoder.h"

namespace assay::families {

struct ReduceParameters {
  std::uint32_t nrows = 0;     // heads times queries
  std::uint32_t head_dim = 0;  // D, 256 or 512
  std::uint32_t nwg = 0;       // 1 .. 32
};

struct ReduceBuffers {
  metal::BufferView htmp;  // f32 [nrows * NWG * (D + 2)], the attention kernel's partials
  metal::BufferView dst;   // f32 [nrows, D]
};

// The value of the field of the kernels' struct, and the other names of the launch.
[[nodiscard]] kernels::FieldValues reduce_values(const ReduceParameters& parameters);

// Throws std::invalid_argument, naming the field, for parameters with which no kernel may run. encode_reduce() does the same.
void validate(const ReduceParameters& parameters);

// One threadgroup of NWG simdgroups per row. The caller must order it behind the dispatch that writes htmp. Throws
// std::invalid_argument, naming the field and both values, before anything is encoded.
void encode_reduce(metal::ComputeEncoder& encoder, const kernels::BoundKernel& kernel, const ReduceParameters& parameters,
                   const ReduceBuffers& buffers);

}  // namespace assay::families
