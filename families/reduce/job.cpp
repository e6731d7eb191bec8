// The job of family `reduce`: partials in, merged rows out.
#include <memory>
#include <span>
#include <vector>

#include "families/reduce/inputs.h"
#include "oracles/reduce.h"

namespace assay::families {
namespace {

// The contract's scratch has room for this many. With fewer workgroups the rest stays poison (NaN), which a kernel must not
// multiply by zero.
constexpr std::size_t kMostWorkgroups = 32;

}  // namespace

Job reduce_job(const JobRequest& request) {
  const ReduceParameters parameters = reduce_parameters(request.test_case);
  const std::size_t rows = parameters.nrows;
  const auto raw = std::make_shared<const std::vector<float>>(reduce_inputs(request.test_case, request.source));

  Job job{.inputs = raw, .row_length = parameters.head_dim};
  const std::size_t htmp = job.add({.argument = "htmp",
                                    .size = rows * kMostWorkgroups * (parameters.head_dim + 2) * sizeof(float),
                                    .contents = {{0, std::as_bytes(std::span(*raw))}}});
  const std::size_t dst = job.add(output_buffer("dst", rows * parameters.head_dim * sizeof(float)));
  job.passes = {{[=, kernel = &request.kernel](metal::ComputeEncoder& encoder, Views views) {
    encode_reduce(encoder, *kernel, parameters, {views[htmp], views[dst]});
  }}};
  job.judged = {dst};
  job.expect = [raw, shape = reduce_request(request.test_case).shape] { return oracles::reduce(shape, *raw); };
  return job;
}

}  // namespace assay::families
