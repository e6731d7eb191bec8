// Validates parameters of `fwht` and encodes its dispatch.
#include "families/fwht/launch.h"

#include <utility>

#include "families/described_launch.h"
#include "families/shared/refusal.h"

namespace assay::families {
kernels::FieldValues fwht_values(const FwhtParameters& parameters) {
  return {{"head_dim", metal::FieldValue::of(parameters.head_dim)}, {"num_heads", metal::FieldValue::of(parameters.num_heads)}};
}

void validate(const FwhtParameters& parameters) {
  require_head_dim(parameters.head_dim);
  require_positive("num_heads", parameters.num_heads);
}

void encode_fwht(metal::ComputeEncoder& encoder, const kernels::BoundKernel& kernel, const FwhtParameters& parameters,
                 metal::BufferView data) {
  validate(parameters);
  data = require_size("data", data, std::uint64_t{parameters.num_heads} * parameters.head_dim * 4, "f32 [num_heads, head_dim]");

  kernels::FieldValues values = fwht_values(parameters);
  values.emplace("mode", metal::FieldValue::of(std::uint32_t{0}));  // it only chooses the function, which the caller has done
  encode_launch(encoder, "fwht", std::move(values), [&](const LaunchedFunction&) { return &kernel; }, {{"data", data}});
}

}  // namespace assay::families
