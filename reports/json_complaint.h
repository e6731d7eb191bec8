// What is wrong with a text that should be JSON, in our words.
#pragma once

#include <string>
#include <string_view>

namespace assay::reports {

// "is no JSON: line 2, column 6: while reading value: unexpected '}'; ...": the place and the reason of what nlohmann::json throws,
// without the names that it has for them.
[[nodiscard]] std::string json_complaint(std::string_view what);

}  // namespace assay::reports
