// Converts a variant's [accuracy] for the oracles of attention and the judge.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/variant.h"
#include "oracles/attention.h"

namespace assay::families {

// The declaration in the oracle's terms. `output` is the format that the family's kernels store. A merge_store counts once for each
// halving of `nsg`, the number of simdgroups whose outputs are merged.
[[nodiscard]] oracles::AttentionAccuracy attention_accuracy(const kernels::Accuracy& declared, const oracles::OutputFormat& output,
                                                            std::int64_t nsg,
                                                            const oracles::ArithmeticProfile& profile = oracles::simulator_profile());

// The bound, relative to an element's magnitude, above which the element is uninformative: sixteen roundings in a format coarser than
// float (oracles/DECODE.md). Nothing for float, where the judge's own limit applies.
// JudgeOptions::declared_loss: a subnormal of the format that values are declared to be stored in, 0 for float.
[[nodiscard]] double declared_loss(const oracles::AttentionAccuracy& accuracy);
[[nodiscard]] std::optional<double> informative_ratio(const oracles::AttentionAccuracy& accuracy);

}  // namespace assay::families
