// Validates parameters of `reduce` and encodes its dispatch.
#include "families/reduce/launch.h"

#include "families/shared/refusal.h"

namespace assay::families {

void validate(const ReduceParameters& parameters) {
  require_head_dim(parameters.head_dim);
  require_positive("nrows", parameters.nrows);
  require_nwg(parameters.nwg);
}

void encode_reduce(metal::ComputeEncoder& encoder, const kernels::BoundKernel& kernel, const ReduceParameters& parameters,
                   const ReduceBuffers& buffers) {
  validate(parameters);
  const std::uint64_t row_bytes = std::uint64_t{parameters.nrows} * 4;
  const metal::BufferView htmp =
      require_size("htmp", buffers.htmp, row_bytes * parameters.nwg * (parameters.head_dim + 2), "f32 [nrows * nwg * (head_dim + 2)]");
  const metal::BufferView dst = require_size("dst", buffers.dst, row_bytes * parameters.head_dim, "f32 [nrows, head_dim]");

  kernel.set_pipeline(encoder);
  kernel.set_parameters(encoder, {{"nrows", metal::FieldValue::of(parameters.nrows)}});
  kernel.set_buffer(encoder, "htmp", htmp);
  kernel.set_buffer(encoder, "dst", dst);
  kernel.set_scalar(encoder, "nwg_param", parameters.nwg);
  kernel.set_threadgroup_memory(encoder, 0);
  encoder.dispatch_threadgroups({parameters.nrows, 1, 1}, {32 * parameters.nwg, 1, 1});
}

}  // namespace assay::families
