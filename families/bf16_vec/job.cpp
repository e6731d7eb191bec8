// The job of family `bf16_vec`: one dispatch.
#include <utility>

#include "families/bf16_vec/inputs.h"
#include "families/described_launch.h"
#include "families/shared/dense_job.h"

namespace assay::families {

Job bf16_vec_job(const JobRequest& request) {
  const Bf16VecParameters parameters = vec_parameters(request.test_case);
  DenseJob dense = dense_job(request, parameters.attention, request.test_case.at("nsg"));
  dense.job.passes = {launch_pass(request, dense.job)};
  return std::move(dense.job);
}

}  // namespace assay::families
