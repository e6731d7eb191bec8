// The cases that stand for their families where policies are timed: one of each kind of kernel, and none that works in place, because each
// is executed many times over.
#pragma once

#include <string>
#include <vector>

#include "families/registry.h"
#include "harness/cases/case.h"
#include "harness/cases/selection.h"
#include "kernels/variant.h"

namespace assay::tests {

inline const std::vector<std::string>& family_cases() {
  static const std::vector<std::string> cases = {"tq4_v1/d256/h8x2/kv512c512/ring0/nomask/nwg4/gauss/s1",
                                                 "tqhb_v2/d512/b8/h4x2/kv512c512/ring0/nomask/nwg2/nsg4/gauss/s1",
                                                 "reduce_v1/d512/rows32/nwg16/gauss/s1",
                                                 "quantize4_v1/d512/b4/g32/pos3c8/sf16/probe/gauss/s1",
                                                 "dequantize_v1/d512/b8/g32/pos3c16/sf16/gauss/s1",
                                                 "bf16_prefill_v2/b1/h2x1/q16/kv256r0/causal1x1/gauss/s1",
                                                 "bf16_vec_v2/b1/h4x2/q1/kv256r0/nomask/nsg4/gauss/s1"};
  return cases;
}

inline const std::vector<kernels::Variant>& catalogue() {
  static const std::vector<kernels::Variant> all = kernels::find_variants(kernels::default_variants_directory(), families::contracts());
  return all;
}

inline harness::Case find_case(const std::string& name) {
  harness::SelectionRequest request;
  request.words = {name};
  return harness::select_cases(request, catalogue()).cases.at(0);
}

}  // namespace assay::tests
