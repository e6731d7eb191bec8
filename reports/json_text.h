// Prints readable JSON. Only for files of this folder.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace assay::reports {

// Keys keep their order of insertion. Arrays and objects that contain only scalars take one line. Ends with a newline.
[[nodiscard]] std::string json_text(const nlohmann::ordered_json& json);

// json_of(entry) for each.
template <typename Range, typename Entry>
[[nodiscard]] nlohmann::ordered_json json_list(const Range& range, const Entry& json_of) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const auto& entry : range) list.push_back(json_of(entry));
  return list;
}

// A number that is not finite becomes null.
[[nodiscard]] nlohmann::ordered_json json_number(double value);

}  // namespace assay::reports
