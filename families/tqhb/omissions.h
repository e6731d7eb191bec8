// What the contract of family `tqhb` leaves out.
#pragma once

#include <utility>
#include <vector>

#include "families/shared/omissions.h"

namespace assay::families {

[[nodiscard]] inline std::vector<Omission> tqhb_omissions() {
  std::vector<Omission> own = {
      {.id = kSoftcapOmission,
       .sentence = "The softcap is 0.",
       .ability = "apply a softcap",
       .cases = {"d256/b8/h2x1/kv33c33/ring0/nomask/nwg1/nsg1/scale1/gauss/s1",
                 "d256/b5/h8x2/kv257c512/ring0/win33/nwg3/nsg1/scale1/gauss/s2",
                 "d512/b6/h4x4/kv100c100/ring7/causal/nwg2/nsg1/scale1/gauss/s3",
                 "d512/b8/h2x1/kv65c65/ring0/nomask/nwg1/nsg1/scale1/sf16/gauss/s4"}},
      {.id = kPartialRingOmission,
       .sentence = "A ring with a start is full: `ring_start` is 0 where `kv_seq_len` is below `kv_capacity`.",
       .ability = "read a ring that is partly filled from another slot than 0",
       .cases = {"d256/b8/h2x1/kv20c40/ring5/nomask/nwg1/nsg1/gauss/s1", "d256/b5/h4x2/kv40c64/ring50/nomask/nwg2/nsg1/gauss/s2",
                 "d512/b6/h2x2/kv33c64/ring31/win9/nwg1/nsg1/gauss/s3", "d512/b8/h2x1/kv70c96/ring90/nomask/nwg3/nsg1/sf16/gauss/s4"}},
      {.id = kBelowSentinelOmission,
       .sentence = "A position whose score is below -65504 is not the only visible one.",
       .ability = "give a key with a score below -65504, the usual mask value, its weight",
       .cases = {"d256/b8/h2x1/kv1c32/ring0/nomask/nwg1/nsg1/all_negative_deep/s1",
                 "d512/b5/h2x2/kv1c1/ring0/causal/nwg2/nsg1/all_negative_deep/s2"}},
      {.id = "nsg_above_4",
       .sentence = "`nsg` is 1, 2 or 4.",
       .ability = "run with 8 simdgroups a workgroup",
       .cases = {"d256/b8/h2x1/kv257c257/ring0/nomask/nwg1/nsg8/gauss/s1", "d512/b5/h4x2/kv600c600/ring33/nomask/nwg2/nsg8/gauss/s2"}},
      {.id = "nsg_of_3",
       .sentence = "`nsg` is a power of two.",
       .ability = "run with 3 simdgroups a workgroup",
       .cases = {"d256/b6/h2x1/kv129c129/ring0/win40/nwg2/nsg3/gauss/s3", "d512/b8/h4x2/kv300c300/ring7/nomask/nwg1/nsg3/gauss/s4"}},
      omitted_nwg_bits(),
      {.id = "same_bits_for_every_nsg",
       .sentence = "Results with different `nsg` are compared with the oracle, and not with each other.",
       .ability = "give the same bits for every nsg",
       .same_bits = SameBits{"nsg", {1, 2, 4}}},
      omitted_schedules(),
      {.id = "four_bits", .sentence = "Indices of 4 bits are never stored one a byte."},
  };
  return joined(std::move(own), decode_omissions());
}

}  // namespace assay::families
