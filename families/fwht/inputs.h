// The inputs of family `fwht`: requests from its axes, its fixture files, and the minimum cost of a case.
#pragma once

#include "families/family.h"
#include "families/fwht/launch.h"
#include "oracles/fwht.h"

namespace assay::families {

// Converts the axes of a case to a request for fixtures, oracles and launch code. Only for cases whose values the launch code accepts.
[[nodiscard]] fixtures::FwhtRequest fwht_request(const Case& test_case);
[[nodiscard]] FwhtParameters fwht_parameters(const Case& test_case);
[[nodiscard]] oracles::FwhtMode fwht_mode(const Case& test_case);

// Generates the inputs, or converts the tensors of a file. Throws fixtures::FileError if a file contains an invalid value.
[[nodiscard]] std::vector<float> fwht_inputs(const Case& test_case, const Source& source);

[[nodiscard]] FileRules fwht_files();
[[nodiscard]] Minimum fwht_minimum(const Case& test_case, const Source& source);
[[nodiscard]] TriageRules fwht_triage();

[[nodiscard]] std::vector<Promise> fwht_promises();
[[nodiscard]] Job fwht_job(const JobRequest& request);

}  // namespace assay::families
