// What the contract of family `quantize` leaves out.
#pragma once

#include <string_view>
#include <vector>

#include "families/omission.h"

namespace assay::families {

inline constexpr std::string_view kFullCacheOmission = "full_cache";

[[nodiscard]] inline std::vector<Omission> quantize_omissions() {
  return {
      {.id = kFullCacheOmission,
       .sentence = "Without `is_sliding`, `write_pos` is below `cache_capacity`.",
       .ability = "leave a full cache alone, where `write_pos` is `cache_capacity` without `is_sliding`",
       .cases = {"d256/b4/g2/pos32c32/gauss/s1", "d256/b8/g3/pos5c5/gauss/s2", "d512/b4/g2/pos7c7/sf16/gauss/s3",
                 "d512/b5/g1/pos33c33/sf16/gauss/s4"}},
      {.id = "infinite_inputs",
       .sentence = "Tokens are finite, and the squares of a row add up to less than the largest float: coordinates are below 2^61."},
      {.id = "late_positions", .sentence = "The stream has fewer than 2^32 tokens: `write_pos` never wraps around."},
      {.id = "scale_factors", .sentence = "`scale_factor_d512` is 1, 16 or sqrt(512), unless a fixture file has another one."},
      {.id = "probe_of_bytes", .sentence = "The probe is enabled with indices of 4 bits only."},
      {.id = "large_caches",
       .sentence = "No cache has more than 2^32 bytes of indices. There are at most 12 heads in the gate (64 with `--seed`), and 65,540 in "
                   "`full`."},
      {.id = "several_tokens", .sentence = "A dispatch writes one token. The cache starts with the same byte everywhere."},
  };
}

}  // namespace assay::families
