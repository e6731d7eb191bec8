// What the contract of family `bf16_prefill` leaves out.
#pragma once

#include <utility>
#include <vector>

#include "families/shared/omissions.h"

namespace assay::families {

[[nodiscard]] inline std::vector<Omission> bf16_prefill_omissions() {
  std::vector<Omission> own = {
      {.id = kSoftcapOmission,
       .sentence = "`logit_softcap` is 0.",
       .ability = "apply a softcap",
       .cases = {"b1/h2x1/q8/kv64r0/nomask/scale1/gauss/s1", "b2/h4x2/q9/kv130r0/causal1x1/scale1/gauss/s2",
                 "b1/h2x2/q2/kv33r7/random1x2/scale1/gauss/s3"}},
      omitted_low_scores({"b1/h2x1/q8/kv1r0/nomask/all_negative_deep/s1", "b1/h2x2/q2/kv1r7/zero1x1/all_negative_deep/s2"}),
      omitted_schedules(),
      {.id = "sinks", .sentence = "There are no sinks: the argument `sinks` has no contents."},
      {.id = "rows_with_gaps",
       .sentence = "Rows of keys and values have gaps only if n is a multiple of 64. Otherwise `nb11` and `nb21` are 1,024, as between "
                   "rows of `pad`."},
      {.id = "blk_of_2", .sentence = "`blk` has what the helper of the variant writes: if that never writes 2, no byte is 2."},
  };
  return joined(std::move(own), dense_omissions());
}

}  // namespace assay::families
