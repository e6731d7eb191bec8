// The inputs of decode attention: requests from its axes, its fixture files, and the minimum cost of a case.
#pragma once

#include <cstdint>
#include <optional>

#include "families/family.h"
#include "families/shared/decode_launch.h"

namespace assay::families {

// The properties of a case that each family derives from axes of its own.
struct DecodeFormat {
  std::uint32_t bits = 4;  // of an index
  bool has_block_norms = false;
  bool fuses_rotation = false;         // the kernel rotates the query
  std::optional<std::uint32_t> nsg{};  // simdgroups per workgroup; nothing: one, which is no parameter
};
using FormatOf = DecodeFormat (*)(const Case& test_case);

// Converts the axes of a case to a request for fixtures, oracles and launch code. Only for cases whose values the launch code accepts.
[[nodiscard]] fixtures::DecodeRequest decode_request(const Case& test_case, const DecodeFormat& format);
[[nodiscard]] DecodeParameters decode_parameters(const Case& test_case, const DecodeFormat& format);

// Generates the inputs, or converts the tensors of a file. Throws fixtures::FileError if a file contains an invalid value.
[[nodiscard]] fixtures::DecodeInputs decode_inputs(const Case& test_case, const DecodeFormat& format, const Source& source);
// Replaces norms of hidden keys that are not finite by large finite ones. Rows behind the last position keep theirs.
void make_hidden_rows_finite(const oracles::DecodeShape& shape, fixtures::DecodeInputs& inputs);

[[nodiscard]] FileRules decode_files(FormatOf format_of);
[[nodiscard]] Minimum decode_minimum(const Case& test_case, const DecodeFormat& format);
[[nodiscard]] TriageRules decode_triage(FormatOf format_of, bool is_4bit);

}  // namespace assay::families
