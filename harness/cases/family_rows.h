// The rows of all_families(), one function each. Only family.cpp includes this.
#pragma once

#include "harness/cases/family.h"

namespace assay::harness {

[[nodiscard]] Family tq4_family();
[[nodiscard]] Family tqhb_family();
[[nodiscard]] Family reduce_family();
[[nodiscard]] Family fwht_family();
[[nodiscard]] Family quantize_family();
[[nodiscard]] Family dequantize_family();
[[nodiscard]] Family bf16_prefill_family();
[[nodiscard]] Family bf16_vec_family();

}  // namespace assay::harness
