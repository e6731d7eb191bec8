// What cases of family `custom` never do, whatever a variant says.
#pragma once

#include <vector>

#include "families/shared/omissions.h"

namespace assay::families {

[[nodiscard]] inline std::vector<Omission> custom_omissions() {
  return {
      omitted_schedules(),
      {.id = "other_values", .sentence = "Axes have the values of `[axes]` and no others."},
      {.id = "infinite_inputs", .sentence = "Inputs are finite, unless they are recorded."},
      {.id = "reference", .sentence = "The reference is believed: what it does wrong is expected of the kernel."},
      {.id = "exact_promises", .sentence = "Scratch buffers, and gaps of outputs, are not judged."},
      {.id = "concurrent_dispatches", .sentence = "Dispatches run one after the other. Outputs begin at multiples of 4 KiB."},
  };
}

}  // namespace assay::families
