// Converts the axes of family `bf16_vec` to parameters of its launch code.
#pragma once

#include "families/bf16_vec/launch.h"
#include "families/shared/dense_inputs.h"

namespace assay::families {

[[nodiscard]] inline Bf16VecParameters vec_parameters(const Case& test_case) {
  return {dense_parameters(test_case, metal::ScalarType::float32), static_cast<std::uint32_t>(test_case.at("nsg"))};
}

[[nodiscard]] Job bf16_vec_job(const JobRequest& request);

}  // namespace assay::families
