// The rows of all_families(), one function each. Only family.cpp includes this.
#pragma once

#include "harness/cases/family.h"

namespace assay::harness {

// An axis that is a positive float, of which the numbers up to `largest_whole` say something else or themselves.
[[nodiscard]] inline Axis float_axis(std::string_view name, std::int64_t initial, std::int64_t largest_whole) {
  return {.name = name, .minimum = 0, .maximum = kScaleLargest, .initial = initial, .largest_whole = largest_whole};
}

[[nodiscard]] Family tq4_family();
[[nodiscard]] Family tqhb_family();
[[nodiscard]] Family reduce_family();
[[nodiscard]] Family fwht_family();
[[nodiscard]] Family quantize_family();
[[nodiscard]] Family dequantize_family();
[[nodiscard]] Family bf16_prefill_family();
[[nodiscard]] Family bf16_vec_family();

}  // namespace assay::harness
