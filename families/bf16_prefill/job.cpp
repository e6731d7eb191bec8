// The job of family `bf16_prefill`: attention in tiles, after helpers that copy the ragged tile and classify tiles of the mask.
#include <algorithm>
#include <optional>
#include <utility>

#include "families/bf16_prefill/helpers.h"
#include "families/bf16_prefill/launch.h"
#include "families/described_launch.h"
#include "families/shared/dense_inputs.h"
#include "families/shared/dense_job.h"

namespace assay::families {

Job bf16_prefill_job(const JobRequest& request) {
  const Bf16Parameters parameters = dense_parameters(request.test_case, metal::ScalarType::bfloat16);
  DenseJob dense = dense_job(request, parameters, 1);
  Job& job = dense.job;
  job.passes = {launch_pass(request, job)};
  const auto check = [&](std::string_view family, std::string_view stage, auto find_fault) {
    // The helper's scratch buffer, which the launch has added.
    const auto buffer = static_cast<std::size_t>(std::ranges::find(job.buffers, stage, &JobBuffer::argument) - job.buffers.begin());
    job.helper_checks.push_back({family, stage, [=, shape = dense.request, inputs = dense.inputs](const Results& results) {
                                   return find_fault(shape, *inputs, results.at(buffer));
                                 }});
  };
  if (is_ragged(parameters))
    check("bf16_pad", "pad",
          [shared = parameters.batches / parameters.key_batches()](const auto&... of) { return find_pad_fault(of..., shared); });
  if (parameters.has_mask()) check("bf16_blk", "blk", find_blk_fault);
  return std::move(job);
}

}  // namespace assay::families
