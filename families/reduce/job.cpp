// The job of family `reduce`: partials in, merged rows out.
#include <algorithm>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "families/described_launch.h"
#include "families/reduce/inputs.h"
#include "families/reduce/omissions.h"
#include "oracles/reduce.h"

namespace assay::families {
namespace {

// The contract's scratch has room for this many. With fewer workgroups the rest stays poison (NaN), which a kernel must not
// multiply by zero.
constexpr std::size_t kMostWorkgroups = 32;
// Of that rest, as much is there as a kernel could reach by a mistake in an index, and not the 4 GB of the largest cases.
constexpr std::size_t kMostSpareBytes = std::size_t{64} << 20;

void lower_idle_maxima(const oracles::PartialsShape& shape, std::vector<float>& partials) {
  for (std::size_t row = 0; row < shape.rows; ++row) {
    for (std::size_t workgroup = 0; workgroup < shape.nwg; ++workgroup) {
      if (partials[shape.sum_index(row, workgroup)] == 0.0F)
        partials[shape.max_index(row, workgroup)] = -std::numeric_limits<float>::infinity();
    }
  }
}

}  // namespace

Job reduce_job(const JobRequest& request) {
  const ReduceParameters parameters = reduce_parameters(request.test_case);
  const std::size_t rows = parameters.nrows;
  const auto raw = std::make_shared<const std::vector<float>>(reduce_inputs(request.test_case, request.source));
  const oracles::PartialsShape shape = reduce_request(request.test_case).shape;
  const auto given = std::make_shared<std::vector<float>>(*raw);
  if (request.test_case.beyond == kIdleInfinityOmission) lower_idle_maxima(shape, *given);

  Job job{.inputs = given, .row_length = parameters.head_dim};
  const std::size_t of_workgroup = rows * (parameters.head_dim + 2) * sizeof(float);
  const std::size_t needed = parameters.nwg * of_workgroup;
  job.add({.argument = "htmp",
           .size = std::min(kMostWorkgroups * of_workgroup, needed + kMostSpareBytes),
           .needed = needed,
           .contents = {{0, std::as_bytes(std::span(*given))}}});
  const std::size_t dst = job.add(output_buffer("dst", rows * parameters.head_dim * sizeof(float)));
  job.passes = {launch_pass(request, job)};
  job.judged = {dst};
  job.expect = [raw, shape, profile = request.profile] { return oracles::reduce(shape, *raw, profile); };
  return job;
}

}  // namespace assay::families
