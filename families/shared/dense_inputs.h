// The inputs of attention over bfloat keys and values: requests from the axes, fixture files, the minimum cost of a case, and
// properties of masks.
#pragma once

#include "families/family.h"
#include "families/shared/dense_launch.h"

namespace assay::families {

// The value of axis kv_layout for a cache laid out [kv_batches, tokens, G, 512] with gaps; 0: [kv_batches, G, tokens, 512].
inline constexpr std::int64_t kTokensOfHeads = 1;

// Converts the axes of a case to a request for fixtures, oracles and launch code. Only for cases whose values the launch code accepts.
// The strides of tensors depend on the seed, so that a kernel that confuses two of them is detected.
[[nodiscard]] fixtures::DenseRequest dense_request(const Case& test_case);
[[nodiscard]] Bf16Parameters dense_parameters(const Case& test_case, metal::ScalarType q_element);

// Generates the inputs, or converts the tensors of a file. Throws fixtures::FileError if a file contains an invalid value.
[[nodiscard]] fixtures::DenseInputs dense_inputs(const Case& test_case, const Source& source);

[[nodiscard]] FileRules dense_files();
[[nodiscard]] Minimum dense_minimum(const Case& test_case, const Source& source);
// The model depends on how a kernel distributes the keys.
[[nodiscard]] TriageRules dense_triage(std::shared_ptr<const Model> (*model)(const Case& test_case, const Source& source));

// The largest index of a key that any query sees, -1 if there is none; empty for a mask from a file.
[[nodiscard]] std::optional<std::int64_t> last_seen(const Case& test_case, bool is_on_file);
// The largest number of keys that any query sees; empty for a mask from a file.
[[nodiscard]] std::optional<std::int64_t> most_seen(const Case& test_case, bool is_on_file);
// The number of mask rows (one, without a mask) for which two simdgroups whose outputs are merged both see only -infinity. NSG
// simdgroups process the chunks of 32 keys in turn; g is merged with g + r for r = NSG / 2, NSG / 4, ..., 1.
[[nodiscard]] std::optional<std::int64_t> idle_pairs(const Case& test_case, bool is_on_file);

}  // namespace assay::families
