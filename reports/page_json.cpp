// Values for the HTML page.
#include "reports/page_json.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

namespace assay::reports {

std::string page_text(const PageJson& json) { return json.dump(-1, ' ', false, PageJson::error_handler_t::replace); }

PageJson page_number(double value) {
  if (std::isnan(value)) return nullptr;
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

PageJson page_rounded(double value, int digits) {
  return std::isfinite(value) ? PageJson(std::strtod(fmt::format("{:.{}g}", value, digits).c_str(), nullptr)) : page_number(value);
}

}  // namespace assay::reports
