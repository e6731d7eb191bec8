// Validates parameters of `reduce` and encodes its dispatch.
#include "families/reduce/launch.h"

#include "families/described_launch.h"
#include "families/shared/refusal.h"

namespace assay::families {

void validate(const ReduceParameters& parameters) {
  require_head_dim(parameters.head_dim);
  require_positive("nrows", parameters.nrows);
  require_nwg(parameters.nwg);
}

kernels::FieldValues reduce_values(const ReduceParameters& parameters) {
  using metal::FieldValue;
  return {{"nrows", FieldValue::of(parameters.nrows)},
          {"head_dim", FieldValue::of(parameters.head_dim)},
          {"nwg", FieldValue::of(parameters.nwg)}};
}

void encode_reduce(metal::ComputeEncoder& encoder, const kernels::BoundKernel& kernel, const ReduceParameters& parameters,
                   const ReduceBuffers& buffers) {
  validate(parameters);
  const std::uint64_t row_bytes = std::uint64_t{parameters.nrows} * 4;
  const metal::BufferView htmp =
      require_size("htmp", buffers.htmp, row_bytes * parameters.nwg * (parameters.head_dim + 2), "f32 [nrows * nwg * (head_dim + 2)]");
  const metal::BufferView dst = require_size("dst", buffers.dst, row_bytes * parameters.head_dim, "f32 [nrows, head_dim]");

  encode_launch(encoder, "reduce", reduce_values(parameters), [&](const LaunchedFunction&) { return &kernel; },
                {{"htmp", htmp}, {"dst", dst}});
}

}  // namespace assay::families
