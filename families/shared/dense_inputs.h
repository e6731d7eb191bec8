// The inputs of attention over bfloat keys and values: what the axes mean, fixture files, what a case needs at least, and what masks show.
#pragma once

#include "families/family.h"
#include "families/shared/dense_launch.h"

namespace assay::families {

// The axes of a case in the words of fixtures, oracles and launch code. Only for cases whose values the launch code accepts. Strides of
// tensors follow the seed, so that a kernel that takes one for another shows.
[[nodiscard]] fixtures::DenseRequest dense_request(const Case& about);
[[nodiscard]] Bf16Parameters dense_parameters(const Case& about, metal::ScalarType q_element);

// Made or converted. Throws fixtures::FileError if a value of a file is forbidden.
[[nodiscard]] fixtures::DenseInputs dense_inputs(const Case& about, const Source& source);

[[nodiscard]] FileRules dense_files();
[[nodiscard]] Minimum dense_minimum(const Case& about, const Source& source);
// All but the model, which depends on how a kernel shares out the keys.
[[nodiscard]] TriageRules dense_triage();

// The largest number of a key that any query sees, -1 if there is none; nothing of a mask that comes from a file.
[[nodiscard]] std::optional<std::int64_t> last_seen(const Case& about, bool is_on_file);
// The largest number of keys that any query sees; nothing of a mask that comes from a file.
[[nodiscard]] std::optional<std::int64_t> most_seen(const Case& about, bool is_on_file);
// Rows of the mask (one, without a mask) of which two simdgroups whose outputs are merged both meet nothing but -infinity: of NSG
// simdgroups, which take the chunks of 32 keys in turn, g is merged with g + r for r = NSG / 2, NSG / 4, ..., 1.
[[nodiscard]] std::optional<std::int64_t> idle_pairs(const Case& about, bool is_on_file);

}  // namespace assay::families
