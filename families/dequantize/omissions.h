// What the contract of family `dequantize` leaves out.
#pragma once

#include <vector>

#include "families/shared/omissions.h"

namespace assay::families {

[[nodiscard]] inline std::vector<Omission> dequantize_omissions() {
  return {
      omitted_schedules(),
      {.id = "positions_behind_the_cache", .sentence = "`read_pos` is below `cache_capacity`."},
      {.id = "stray_bits", .sentence = "The bits of a byte above an index of 5 or 6 bits are 0."},
      {.id = "infinite_inputs", .sentence = "The norms that are read are finite and not negative."},
      {.id = "one_norm", .sentence = "At D = 512 there is a norm for each block of 256: `norms_per_pos` is D / 256."},
      {.id = "scale_factors", .sentence = "`scale_factor_d512` is 1, 16 or sqrt(512), unless a fixture file has another one."},
      {.id = "large_caches",
       .sentence = "No cache has more than 2^32 bytes of indices. There are at most 32 heads in the gate (64 with `--seed`), and 65,540 in "
                   "`full`."},
      {.id = "spare_threads", .sentence = "A threadgroup has D threads, and there is one for each head."},
  };
}

}  // namespace assay::families
