// Validates parameters of `fwht` and encodes its dispatch.
#include "families/fwht/launch.h"

#include <fmt/format.h>

#include <stdexcept>
#include <string_view>

#include "families/shared/refusal.h"

namespace assay::families {
namespace {

std::string_view mode_name(FwhtMode mode) {
  switch (mode) {
    case FwhtMode::standalone:
      return "standalone";
    case FwhtMode::premult:
      return "premult";
    case FwhtMode::undo:
      return "undo";
  }
  throw std::invalid_argument(
      fmt::format("fwht mode = {}: must be 0 (standalone), 1 (premult) or 2 (undo)", static_cast<std::uint32_t>(mode)));
}

}  // namespace

std::string fwht_entry_key(FwhtMode mode, std::uint32_t head_dim) {
  require_head_dim(head_dim);
  return fmt::format("{}_d{}", mode_name(mode), head_dim);
}

void validate(const FwhtParameters& parameters) {
  require_head_dim(parameters.head_dim);
  require_positive("num_heads", parameters.num_heads);
}

void encode_fwht(metal::ComputeEncoder& encoder, const kernels::BoundKernel& kernel, const FwhtParameters& parameters,
                 metal::BufferView data) {
  validate(parameters);
  data = require_size("data", data, std::uint64_t{parameters.num_heads} * parameters.head_dim * 4, "f32 [num_heads, head_dim]");

  kernel.set_pipeline(encoder);
  kernel.set_parameters(
      encoder, {{"head_dim", metal::FieldValue::of(parameters.head_dim)}, {"num_heads", metal::FieldValue::of(parameters.num_heads)}});
  kernel.set_buffer(encoder, "data", data);
  kernel.set_threadgroup_memory(encoder, 0);
  encoder.dispatch_threadgroups({parameters.num_heads, 1, 1}, {32, 1, 1});
}

}  // namespace assay::families
