// The inputs of family `quantize`: what its axes mean, its fixture files, and what a case needs at least.
#pragma once

#include "families/family.h"
#include "families/quantize/launch.h"
#include "families/quantize/rows.h"

namespace assay::families {

// The axes of a case in the words of fixtures, oracles and launch code. Only for cases whose values the launch code accepts.
[[nodiscard]] fixtures::QuantizeRequest quantize_request(const Case& about);
[[nodiscard]] QuantizeParameters quantize_parameters(const Case& about);
// What the rows of the judged output hold.
[[nodiscard]] QuantizedRows quantized_rows(const Case& about);

// Made or converted. Throws fixtures::FileError if a value of a file is forbidden.
[[nodiscard]] std::vector<float> quantize_inputs(const Case& about, const Source& source);

[[nodiscard]] FileRules quantize_files();
[[nodiscard]] Minimum quantize_minimum(const Case& about, const Source& source);

[[nodiscard]] Job quantize_job(const JobRequest& request);

}  // namespace assay::families
