// The inputs of decode attention: what its axes mean, its fixture files, and what a case needs at least.
#pragma once

#include "families/family.h"
#include "families/shared/decode_launch.h"

namespace assay::families {

// The axes of a case in the words of fixtures, oracles and launch code. Only for cases whose values the launch code accepts.
[[nodiscard]] fixtures::DecodeRequest decode_request(const Case& about);
[[nodiscard]] DecodeParameters decode_parameters(const Case& about);

// Made or converted. Throws fixtures::FileError if a value of a file is forbidden.
[[nodiscard]] fixtures::DecodeInputs decode_inputs(const Case& about, const Source& source);

[[nodiscard]] FileRules decode_files();
// Of a kernel that reads `norms` norms of each position and head, and rotates the query or does not.
[[nodiscard]] Minimum decode_minimum(const Case& about, std::uint64_t bits, std::uint64_t norms, bool rotates);
[[nodiscard]] TriageRules decode_triage(bool is_4bit);

}  // namespace assay::families
