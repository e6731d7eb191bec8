// The inputs of family `reduce`: what its axes mean, its fixture files, and what a case needs at least.
#pragma once

#include "families/family.h"
#include "families/reduce/launch.h"

namespace assay::families {

// The axes of a case in the words of fixtures, oracles and launch code. Only for cases whose values the launch code accepts.
[[nodiscard]] fixtures::ReduceRequest reduce_request(const Case& about);
[[nodiscard]] ReduceParameters reduce_parameters(const Case& about);

// Made or converted. Throws fixtures::FileError if a value of a file is forbidden.
[[nodiscard]] std::vector<float> reduce_inputs(const Case& about, const Source& source);

[[nodiscard]] FileRules reduce_files();
[[nodiscard]] Minimum reduce_minimum(const Case& about, const Source& source);

[[nodiscard]] Job reduce_job(const JobRequest& request);

}  // namespace assay::families
