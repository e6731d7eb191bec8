// Parses untrusted JSON. For files of this folder and of the command.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace assay::reports {

// Calls `fail`, which must throw, with a sentence about a text that is not JSON, has the same key twice in one object (JSON does not
// define which of the two counts), or nests more than `deepest` objects and arrays.
[[nodiscard]] nlohmann::json parse_strict_json(std::string_view text, int deepest, const std::function<void(const std::string&)>& fail);

}  // namespace assay::reports
