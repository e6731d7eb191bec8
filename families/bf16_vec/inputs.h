// Converts the axes of family `bf16_vec` to parameters of its launch code.
#pragma once

#include "families/bf16_vec/launch.h"
#include "families/shared/dense_inputs.h"

namespace assay::families {

[[nodiscard]] inline Bf16VecParameters vec_parameters(const Case& about) {
  return {dense_parameters(about, metal::ScalarType::float32), static_cast<std::uint32_t>(about.at("nsg"))};
}

[[nodiscard]] Job bf16_vec_job(const JobRequest& request);

}  // namespace assay::families
