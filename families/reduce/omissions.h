// What the contract of family `reduce` leaves out.
#pragma once

#include <string_view>
#include <vector>

#include "families/shared/omissions.h"

namespace assay::families {

inline constexpr std::string_view kIdleInfinityOmission = "idle_minus_infinity";

[[nodiscard]] inline std::vector<Omission> reduce_omissions() {
  return {
      {.id = kIdleInfinityOmission,
       .sentence = "An idle workgroup leaves M = -FLT_MAX/2, as the contract of decode attention says.",
       .ability = "merge idle workgroups that leave M = -INFINITY, as other kernels do",
       .cases = {"d256/rows2/nwg4/idle/s1", "d512/rows9/nwg32/idle/s2", "d256/rows3/nwg3/idle/s3"}},
      omitted_schedules(),
      {.id = "nwg_above_32", .sentence = "`nwg` is at most 32, a lane for each workgroup, and at least 1."},
      {.id = "infinite_inputs",
       .sentence = "Partial results are finite. No sum is negative, and a workgroup whose sum is 0 has the output 0."},
      {.id = "head_dims", .sentence = "Rows have 256 or 512 coordinates."},
      {.id = "many_rows",
       .sentence = "There are at most 32 rows in the gate (128 with `--seed`), and 65,540 in `full`. Every threadgroup has a row."},
  };
}

}  // namespace assay::families
