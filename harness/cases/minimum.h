// The minimum cost of a case of any family, for any kernel (families/minimum.h).
#pragma once

#include "families/minimum.h"
#include "fixtures/shelf.h"
#include "harness/cases/case.h"

namespace assay::harness {

// Only for cases whose values the launch code accepts. Throws what case_data.h describes for a case whose fixture is a file.
[[nodiscard]] families::Minimum minimum_of(const Case& test_case, const fixtures::Shelf& shelf);

}  // namespace assay::harness
