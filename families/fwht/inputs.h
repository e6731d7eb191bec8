// The inputs of family `fwht`: what its axes mean, its fixture files, and what a case needs at least.
#pragma once

#include "families/family.h"
#include "families/fwht/launch.h"
#include "oracles/fwht.h"

namespace assay::families {

// The axes of a case in the words of fixtures, oracles and launch code. Only for cases whose values the launch code accepts.
[[nodiscard]] fixtures::FwhtRequest fwht_request(const Case& about);
[[nodiscard]] FwhtParameters fwht_parameters(const Case& about);
[[nodiscard]] oracles::FwhtMode fwht_mode(const Case& about);

// Made or converted. Throws fixtures::FileError if a value of a file is forbidden.
[[nodiscard]] std::vector<float> fwht_inputs(const Case& about, const Source& source);

[[nodiscard]] FileRules fwht_files();
[[nodiscard]] Minimum fwht_minimum(const Case& about, const Source& source);

[[nodiscard]] Job fwht_job(const JobRequest& request);

}  // namespace assay::families
