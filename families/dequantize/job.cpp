// The job of family `dequantize`: one position of a cache in, its values out.
#include <memory>
#include <span>

#include "families/dequantize/inputs.h"
#include "families/described_launch.h"
#include "families/shared/strided_rows.h"
#include "oracles/dequantize.h"

namespace assay::families {

Job dequantize_job(const JobRequest& request) {
  const DequantizeParameters parameters = dequantize_parameters(request.test_case);
  const fixtures::DequantizeRequest shape = dequantize_request(request.test_case);
  const auto inputs = std::make_shared<const fixtures::DequantizeInputs>(dequantize_inputs(request.test_case, request.source));

  Job job{.inputs = inputs, .row_length = parameters.head_dim};
  const auto add_cache = [&](std::string_view argument, std::span<const std::byte> bytes) {
    job.add(cache_buffer(argument, bytes, {shape.kv_heads, shape.kv_capacity, inputs->filled_slots}));
  };
  add_cache("packed", std::as_bytes(std::span(inputs->codes)));
  add_cache("norms", std::as_bytes(std::span(inputs->norms)));
  const std::size_t dst = job.add(output_buffer("dst", shape.kv_heads * parameters.head_dim * sizeof(float)));
  job.passes = {launch_pass(request, job)};
  job.judged = {dst};
  job.expect = [inputs, shape, profile = request.profile] {
    return oracles::dequantize(shape.shape(), shape.bits, shape.scale_factor_d512, inputs->codes, inputs->norms, profile);
  };
  return job;
}

}  // namespace assay::families
