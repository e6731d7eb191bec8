// Mistakes in attention kernels of a foreign style, for tests of triage without a right source.
#pragma once

#include <string_view>
#include <vector>

#include "tests/faults/twins.h"

namespace assay::tests {

struct ForeignRow {
  std::string_view variant;
  const Twin* twin;       // `quiet` is not used
  bool is_quick = false;  // tried by CTest
};

// Planted for these tests, before landmarks existed.
[[nodiscard]] std::vector<ForeignRow> foreign_style();
// The twins of the same kernels, with the cases that catch them. Without those that need gigabytes.
[[nodiscard]] std::vector<ForeignRow> twins_of_foreign_style();

}  // namespace assay::tests
