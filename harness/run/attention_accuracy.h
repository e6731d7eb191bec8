// What a variant's [accuracy] means to the oracles and to the judge. Internal to harness/run.
#pragma once

#include "harness/judge/judge.h"
#include "kernels/variant.h"
#include "oracles/attention.h"

namespace assay::harness {

// What is declared, in the oracle's terms; `output` is the format that the family's kernels store.
[[nodiscard]] oracles::AttentionAccuracy attention_accuracy(const kernels::Accuracy& declared, const oracles::OutputFormat& output);

// Where an element stops telling anything: 1e-3 of its magnitude in float, sixteen roundings in a coarser format (oracles/README.md).
[[nodiscard]] JudgeOptions widened_for(const oracles::AttentionAccuracy& accuracy, JudgeOptions options);

}  // namespace assay::harness
