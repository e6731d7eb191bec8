// The files of reports/html/ and Chart.js, which the build puts into the program: none of them is looked for at run time.
#pragma once

#include <string_view>

namespace assay::reports {

// The text of a file by its name without folder. Throws std::out_of_range if the build embedded none of that name.
[[nodiscard]] std::string_view embedded_file(std::string_view name);

}  // namespace assay::reports
