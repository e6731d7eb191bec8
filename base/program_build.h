// Identifies the running executable.
#pragma once

#include <string>

namespace assay::base {

// The build ID of this executable, else a hash of it. It identifies the judge, because oracles, bounds, fixtures and suites are part of the
// executable.
[[nodiscard]] std::string build_of_program();

}  // namespace assay::base
