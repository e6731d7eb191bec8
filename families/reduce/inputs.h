// The inputs of family `reduce`: requests from its axes, its fixture files, and the minimum cost of a case.
#pragma once

#include "families/family.h"
#include "families/reduce/launch.h"

namespace assay::families {

// Converts the axes of a case to a request for fixtures, oracles and launch code. Only for cases whose values the launch code accepts.
[[nodiscard]] fixtures::ReduceRequest reduce_request(const Case& test_case);
[[nodiscard]] ReduceParameters reduce_parameters(const Case& test_case);

// Generates the inputs, or converts the tensors of a file. Throws fixtures::FileError if a file contains an invalid value.
[[nodiscard]] std::vector<float> reduce_inputs(const Case& test_case, const Source& source);

[[nodiscard]] FileRules reduce_files();
[[nodiscard]] Minimum reduce_minimum(const Case& test_case, const Source& source);
[[nodiscard]] TriageRules reduce_triage();

[[nodiscard]] Job reduce_job(const JobRequest& request);

}  // namespace assay::families
