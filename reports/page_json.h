// Values as the HTML page reads them. Only for files of this folder.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace assay::reports {

using PageJson = nlohmann::ordered_json;

// On one line; what is not UTF-8 is replaced.
[[nodiscard]] std::string page_text(const PageJson& json);
// NaN is null, infinities are the strings "inf" and "-inf".
[[nodiscard]] PageJson page_number(double value);
// With this many digits: enough for figures that are not compared with a bound, and a fraction of the size.
[[nodiscard]] PageJson page_rounded(double value, int digits = 6);

}  // namespace assay::reports
