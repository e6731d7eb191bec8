// Keeps the rows of covering designs in the cache, because those of the long suites take seconds to find.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/cases/covering.h"

namespace assay::harness {

// The rows that `make` returns, from the cache of compiled files (metal/compile/cache.h) if an entry `name` has them. The entry counts only
// for this build of the program, for this `subject` (a text: what the rows depend on besides the program), and if every level is one of
// `design`. If there is no place for a cache, `make` is called each time.
[[nodiscard]] std::vector<Row> stored_rows(const std::string& name, const std::string& subject, const CoveringDesign& design,
                                           const std::function<std::vector<Row>()>& make);

}  // namespace assay::harness
