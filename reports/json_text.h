// Prints readable JSON. Only for files of this folder.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace assay::reports {

// Keys keep their order of insertion. Arrays and objects that contain only scalars take one line. Ends with a newline.
[[nodiscard]] std::string json_text(const nlohmann::ordered_json& json);

// A number that is not finite becomes null.
[[nodiscard]] nlohmann::ordered_json json_number(double value);

}  // namespace assay::reports
