// The common part of the jobs of bf16_prefill and bf16_vec: strided inputs, a bfloat output, and its expectation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "families/job.h"
#include "families/shared/dense_launch.h"
#include "fixtures/dense.h"

namespace assay::families {

// Numbers of the job's buffers.
struct DenseBuffers {
  std::size_t q = 0, k = 0, v = 0, dst = 0;
  std::optional<std::size_t> mask = {};

  [[nodiscard]] Bf16Tensors tensors(Views views) const {
    return {views[q], views[k], views[v], mask ? views[*mask] : metal::BufferView(), views[dst]};
  }
};

struct DenseJob {
  Job job;  // without passes
  DenseBuffers buffers;
  fixtures::DenseRequest request;
  std::shared_ptr<const fixtures::DenseInputs> inputs;
};

// `nsg`: number of simdgroups whose outputs are merged.
[[nodiscard]] DenseJob dense_job(const JobRequest& request, const Bf16Parameters& parameters, std::int64_t nsg);

}  // namespace assay::families
