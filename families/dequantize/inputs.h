// The inputs of family `dequantize`: requests from its axes, its fixture files, and the minimum cost of a case.
#pragma once

#include "families/dequantize/launch.h"
#include "families/family.h"

namespace assay::families {

// Converts the axes of a case to a request for fixtures, oracles and launch code. Only for cases whose values the launch code accepts.
[[nodiscard]] fixtures::DequantizeRequest dequantize_request(const Case& test_case);
[[nodiscard]] DequantizeParameters dequantize_parameters(const Case& test_case);

// Generates the inputs, or converts the tensors of a file. Throws fixtures::FileError if a file contains an invalid value.
[[nodiscard]] fixtures::DequantizeInputs dequantize_inputs(const Case& test_case, const Source& source);

[[nodiscard]] FileRules dequantize_files();
[[nodiscard]] Minimum dequantize_minimum(const Case& test_case, const Source& source);
[[nodiscard]] TriageRules dequantize_triage();

[[nodiscard]] Job dequantize_job(const JobRequest& request);

}  // namespace assay::families
