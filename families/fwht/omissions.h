// What the contract of family `fwht` leaves out.
#pragma once

#include <vector>

#include "families/omission.h"

namespace assay::families {

[[nodiscard]] inline std::vector<Omission> fwht_omissions() {
  return {
      {.id = "infinite_inputs", .sentence = "Coordinates are finite and so small, below 2^113, that no sum of a row overflows."},
      {.id = "head_dims", .sentence = "Rows have 256 or 512 coordinates."},
      {.id = "spare_threadgroups", .sentence = "At most one threadgroup is behind the last row."},
      {.id = "many_rows", .sentence = "There are at most 33 rows in the gate (150 with `--seed`), and 65,540 in `full`."},
  };
}

}  // namespace assay::families
