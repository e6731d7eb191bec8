// The files of reports/html/ and Chart.js, embedded into the program by the build.
#pragma once

#include <string_view>

namespace assay::reports {

// Returns the text of an embedded file by its name without folder. Throws std::out_of_range for an unknown name.
[[nodiscard]] std::string_view embedded_file(std::string_view name);

}  // namespace assay::reports
