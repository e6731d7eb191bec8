// JSON documents as people read them too. Only for files of this folder.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace assay::reports {

// Keys in the order in which they were put in; what holds nothing but scalars on one line, so that a struct reads as a table. Ends with
// a newline.
[[nodiscard]] std::string json_text(const nlohmann::ordered_json& json);

// What is not finite has no number in JSON: null.
[[nodiscard]] nlohmann::ordered_json json_number(double value);

}  // namespace assay::reports
