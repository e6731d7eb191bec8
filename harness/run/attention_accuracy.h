// What a variant's [accuracy] means to the oracles and to the judge. Internal to harness/run.
#pragma once

#include <cstdint>

#include "harness/cases/case.h"
#include "harness/judge/judge.h"
#include "kernels/variant.h"
#include "oracles/attention.h"

namespace assay::harness {

// What is declared, in the oracle's terms. `output` is the format that the family's kernels store; a merge_store counts once for each
// halving of `nsg`, the number of simdgroups whose outputs are merged.
[[nodiscard]] oracles::AttentionAccuracy attention_accuracy(const kernels::Accuracy& declared, const oracles::OutputFormat& output,
                                                            std::int64_t nsg);

// The case's axis nsg; 1 if its family has none.
[[nodiscard]] std::int64_t nsg_of(const Case& about);

// Where an element stops telling anything: 1e-3 of its magnitude in float, sixteen roundings in a coarser format (oracles/README.md).
[[nodiscard]] JudgeOptions widened_for(const oracles::AttentionAccuracy& accuracy, JudgeOptions options);

}  // namespace assay::harness
