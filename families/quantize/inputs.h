// The inputs of family `quantize`: requests from its axes, its fixture files, and the minimum cost of a case.
#pragma once

#include "families/family.h"
#include "families/quantize/launch.h"
#include "families/quantize/rows.h"

namespace assay::families {

// Converts the axes of a case to a request for fixtures, oracles and launch code. Only for cases whose values the launch code accepts.
[[nodiscard]] fixtures::QuantizeRequest quantize_request(const Case& test_case);
[[nodiscard]] QuantizeParameters quantize_parameters(const Case& test_case);
// The layout of the rows of the judged output.
[[nodiscard]] QuantizedRows quantized_rows(const Case& test_case);

// Generates the inputs, or converts the tensors of a file. Throws fixtures::FileError if a file contains an invalid value.
[[nodiscard]] std::vector<float> quantize_inputs(const Case& test_case, const Source& source);

[[nodiscard]] FileRules quantize_files();
[[nodiscard]] Minimum quantize_minimum(const Case& test_case, const Source& source);
[[nodiscard]] TriageRules quantize_triage();

[[nodiscard]] std::vector<Promise> quantize_promises();
[[nodiscard]] Job quantize_job(const JobRequest& request);

}  // namespace assay::families
