// The inputs of decode attention: requests from its axes, its fixture files, and the minimum cost of a case.
#pragma once

#include "families/family.h"
#include "families/shared/decode_launch.h"

namespace assay::families {

// Converts the axes of a case to a request for fixtures, oracles and launch code. Only for cases whose values the launch code accepts.
[[nodiscard]] fixtures::DecodeRequest decode_request(const Case& test_case);
[[nodiscard]] DecodeParameters decode_parameters(const Case& test_case);

// Generates the inputs, or converts the tensors of a file. Throws fixtures::FileError if a file contains an invalid value.
[[nodiscard]] fixtures::DecodeInputs decode_inputs(const Case& test_case, const Source& source);

[[nodiscard]] FileRules decode_files();
// The minimum for a kernel that reads `norms` norms per position and head; `rotates`: whether it rotates the query.
[[nodiscard]] Minimum decode_minimum(const Case& test_case, std::uint64_t bits, std::uint64_t norms, bool rotates);
[[nodiscard]] TriageRules decode_triage(bool is_4bit);

}  // namespace assay::families
