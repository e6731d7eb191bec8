// What the contract of family `tq4` leaves out.
#pragma once

#include <utility>
#include <vector>

#include "families/shared/omissions.h"

namespace assay::families {

[[nodiscard]] inline std::vector<Omission> tq4_omissions() {
  std::vector<Omission> own = {
      {.id = kSoftcapOmission,
       .sentence = "The softcap is 0.",
       .ability = "apply a softcap",
       .cases = {"d256/h2x1/kv33c33/ring0/nomask/nwg1/scale1/gauss/s1", "d256/h8x2/kv257c512/ring0/win33/nwg3/scale1/gauss/s2",
                 "d512/h4x4/kv100c100/ring7/causal/nwg2/scale1/gauss/s3", "d512/h2x1/kv65c65/ring0/nomask/nwg1/scale1/sf16/gauss/s4",
                 "d256/h2x1/kv33c33/ring0/nomask/nwg1/scale1/sf1/gauss/s5"}},
      {.id = kPartialRingOmission,
       .sentence = "A ring with a start is full: `ring_start` is 0 where `kv_seq_len` is below `kv_capacity`.",
       .ability = "read a ring that is partly filled from another slot than 0",
       .cases = {"d256/h2x1/kv20c40/ring5/nomask/nwg1/gauss/s1", "d256/h4x2/kv40c64/ring50/nomask/nwg2/gauss/s2",
                 "d512/h2x2/kv33c64/ring31/win9/nwg1/gauss/s3", "d512/h2x1/kv70c96/ring90/nomask/nwg3/sf1/gauss/s4",
                 "d256/h4x2/kv40c64/ring50/nomask/nwg2/sf1/gauss/s5"}},
      {.id = kBelowSentinelOmission,
       .sentence = "A position whose score is below -65504 is not the only visible one.",
       .ability = "give a key with a score below -65504, the usual mask value, its weight",
       .cases = {"d256/h2x1/kv1c32/ring0/nomask/nwg1/all_negative_deep/s1", "d512/h2x2/kv1c1/ring0/causal/nwg2/all_negative_deep/s2",
                 "d512/h2x1/kv1c32/ring0/nomask/nwg1/sf16/all_negative_deep/s3"}},
      omitted_nwg_bits(),
  };
  return joined(std::move(own), decode_omissions());
}

}  // namespace assay::families
