// How hard a case is to understand, for the smallest of several.
#pragma once

#include <cstdint>

#include "harness/cases/case.h"

namespace assay::harness {

// The value of an axis that needs no thought: a constant, or the value of another axis of the case.
[[nodiscard]] std::int64_t simplest_value(const Axis& axis, const Case& test_case);

// The effort to understand a case: query rows times keys (or rows) times coordinates, plus less than one row for each other axis that
// does not have its simplest value.
[[nodiscard]] double size_of(const Case& test_case);

}  // namespace assay::harness
