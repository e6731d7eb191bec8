// Parses untrusted JSON.
#include "reports/strict_json.h"

#include <fmt/format.h>

#include <set>
#include <stdexcept>
#include <vector>

#include "reports/json_complaint.h"

namespace assay::reports {

nlohmann::json parse_strict_json(std::string_view text, int deepest, const std::function<void(const std::string&)>& fail) {
  std::vector<std::set<std::string>> open;  // the keys read so far in each open object
  try {
    return nlohmann::json::parse(text, [&](int depth, nlohmann::json::parse_event_t event, const nlohmann::json& parsed) {
      if (depth > deepest) fail(fmt::format("nests deeper than {} levels", deepest));
      if (event == nlohmann::json::parse_event_t::object_start) open.emplace_back();
      if (event == nlohmann::json::parse_event_t::object_end) open.pop_back();
      if (event == nlohmann::json::parse_event_t::key && !open.back().insert(parsed.get<std::string>()).second)
        fail(fmt::format("an object has the key '{}' twice", parsed.get<std::string>()));
      return true;
    });
  } catch (const nlohmann::json::exception& bad) {
    fail(json_complaint(bad.what()));
  }
  throw std::logic_error("the complaint about a JSON text was not thrown");
}

}  // namespace assay::reports
