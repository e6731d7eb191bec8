// The inputs of family `dequantize`: what its axes mean, its fixture files, and what a case needs at least.
#pragma once

#include "families/dequantize/launch.h"
#include "families/family.h"

namespace assay::families {

// The axes of a case in the words of fixtures, oracles and launch code. Only for cases whose values the launch code accepts.
[[nodiscard]] fixtures::DequantizeRequest dequantize_request(const Case& about);
[[nodiscard]] DequantizeParameters dequantize_parameters(const Case& about);

// Made or converted. Throws fixtures::FileError if a value of a file is forbidden.
[[nodiscard]] fixtures::DequantizeInputs dequantize_inputs(const Case& about, const Source& source);

[[nodiscard]] FileRules dequantize_files();
[[nodiscard]] Minimum dequantize_minimum(const Case& about, const Source& source);

[[nodiscard]] Job dequantize_job(const JobRequest& request);

}  // namespace assay::families
