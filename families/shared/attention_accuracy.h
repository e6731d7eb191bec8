// What a variant's [accuracy] means to the oracles of attention and to the judge.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/variant.h"
#include "oracles/attention.h"

namespace assay::families {

// What is declared, in the oracle's terms. `output` is the format that the family's kernels store; a merge_store counts once for each
// halving of `nsg`, the number of simdgroups whose outputs are merged.
[[nodiscard]] oracles::AttentionAccuracy attention_accuracy(const kernels::Accuracy& declared, const oracles::OutputFormat& output,
                                                            std::int64_t nsg);

// The bound, as a part of an element's magnitude, above which the element tells nothing: sixteen roundings in a format coarser than float
// (oracles/README.md); nothing for float, where the judge's own limit holds.
[[nodiscard]] std::optional<double> informative_ratio(const oracles::AttentionAccuracy& accuracy);

}  // namespace assay::families
