// Compares constant arrays of a source with the tables of its contract.
#pragma once

#include <cstddef>
#include <vector>

#include "harness/cases/case.h"
#include "harness/findings/fault.h"
#include "metal/argument_layout.h"

namespace assay::harness {

inline constexpr std::size_t kWrongEntriesInText = 4;  // entries that a fault lists
inline constexpr double kNearlyEqualEntries = 1e-3;    // a tenth of the smallest distance between centroids, or less

// The arrays that are recognisable as a table that the case depends on (as long, three quarters of the entries nearly equal), and differ
// from it. A bound is wider than the last digits of a centroid, so outputs do not show such a difference.
[[nodiscard]] std::vector<fault::WrongTable> find_wrong_tables(const metal::ArgumentLayout& layout, const Case& test_case);

}  // namespace assay::harness
