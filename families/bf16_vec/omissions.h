// What the contract of family `bf16_vec` leaves out.
#pragma once

#include <utility>
#include <vector>

#include "families/shared/omissions.h"

namespace assay::families {

[[nodiscard]] inline std::vector<Omission> bf16_vec_omissions() {
  std::vector<Omission> own = {
      {.id = kSoftcapOmission,
       .sentence = "`logit_softcap` is 0.",
       .ability = "apply a softcap",
       .cases = {"b1/h2x1/q1/kv64r0/nomask/scale1/nsg1/gauss/s1", "b2/h4x2/q9/kv160r0/causal1x1/scale1/nsg2/gauss/s2",
                 "b1/h2x2/q2/kv96r7/random1x2/scale1/nsg4/gauss/s3"}},
      omitted_low_scores({"b1/h2x1/q1/kv1r31/nomask/nsg1/all_negative_deep/s1", "b1/h2x2/q2/kv1r31/zero1x1/nsg2/all_negative_deep/s2"}),
      {.id = "nsg_above_4",
       .sentence = "`nsg` is 1, 2 or 4.",
       .ability = "run with 8 simdgroups",
       .cases = {"b1/h2x1/q1/kv512r0/nomask/nsg8/gauss/s1", "b2/h4x2/q3/kv320r0/causal1x1/nsg8/gauss/s2"}},
      {.id = "nsg_of_3",
       .sentence = "`nsg` is a power of two.",
       .ability = "run with 3 simdgroups",
       .cases = {"b1/h2x1/q2/kv256r0/nomask/nsg3/gauss/s3", "b2/h4x2/q1/kv128r0/nomask/nsg3/gauss/s4"}},
      {.id = "same_bits_for_every_nsg",
       .sentence = "Results with different `nsg` are compared with the oracle, and not with each other.",
       .ability = "give the same bits for every nsg",
       .same_bits = SameBits{"nsg", {1, 2, 4}}},
      omitted_schedules(),
      {.id = "sinks", .sentence = "There are no sinks."},
  };
  return joined(std::move(own), dense_omissions());
}

}  // namespace assay::families
