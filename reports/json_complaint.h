// Describes JSON syntax errors in our words.
#pragma once

#include <string>
#include <string_view>

namespace assay::reports {

// For example "is not JSON: line 2, column 6: while reading value: unexpected '}'; ...": place and reason of an nlohmann::json exception,
// without its internal names.
[[nodiscard]] std::string json_complaint(std::string_view what);

}  // namespace assay::reports
