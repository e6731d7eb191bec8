// The job of family `bf16_prefill`: attention in tiles, after helpers that copy the ragged tile and classify tiles of the mask.
#include <optional>
#include <utility>

#include "families/bf16_prefill/helpers.h"
#include "families/bf16_prefill/launch.h"
#include "families/shared/dense_inputs.h"
#include "families/shared/dense_job.h"

namespace assay::families {

Job bf16_prefill_job(const JobRequest& request) {
  const Bf16Parameters parameters = dense_parameters(request.test_case, metal::ScalarType::bfloat16);
  DenseJob dense = dense_job(request, parameters, 1);
  Job& job = dense.job;
  const auto add_scratch = [&](std::string_view argument, std::size_t size) {
    return job.add({.argument = argument, .role = BufferRole::scratch, .size = size});
  };
  const std::size_t pad = add_scratch("pad", is_ragged(parameters) ? bf16_pad_bytes(parameters) : 0);
  const std::size_t blk = add_scratch("blk", parameters.has_mask() ? bf16_blk_bytes(parameters) : 0);

  const kernels::FunctionKey pad_key = {"pad", bf16_pad_constants(parameters.has_mask())};
  const Bf16PrefillKernels kernels = {request.kernel, request.helper("bf16_pad", pad_key), request.helper("bf16_blk", {"blk"})};
  job.passes = {{[=, buffers = dense.buffers](metal::ComputeEncoder& encoder, Views views) {
    encode_bf16_prefill(encoder, kernels, parameters, {buffers.tensors(views), views[pad], views[blk]});
  }}};
  const auto check = [&](std::string_view family, std::string_view stage, std::size_t buffer, auto find_fault) {
    job.helper_checks.push_back({family, stage, [=, shape = dense.request, inputs = dense.inputs](const Results& results) {
                                   return find_fault(shape, *inputs, results.at(buffer));
                                 }});
  };
  if (is_ragged(parameters))
    check("bf16_pad", "pad", pad,
          [shared = parameters.batches / parameters.key_batches()](const auto&... of) { return find_pad_fault(of..., shared); });
  if (parameters.has_mask()) check("bf16_blk", "blk", blk, find_blk_fault);
  return std::move(job);
}

}  // namespace assay::families
