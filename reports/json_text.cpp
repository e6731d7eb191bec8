// Prints JSON with structs of scalars on one line.
#include "reports/json_text.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace assay::reports {
namespace {

using Json = nlohmann::ordered_json;

void write(const Json& json, std::size_t indent, std::string& text) {
  bool is_flat = true;
  for (const Json& child : json) is_flat = is_flat && !child.is_structured();
  const std::string blanks(indent, ' ');
  const char* close = json.is_array() ? "]" : "}";
  text += json.is_array() ? "[" : "{";
  std::string separator = is_flat ? "" : "\n" + blanks + "  ";
  for (const auto& [key, child] : json.items()) {
    text += separator;
    if (json.is_object()) text += Json(key).dump(-1, ' ', false, Json::error_handler_t::replace) + ": ";
    if (child.is_structured()) {
      write(child, indent + 2, text);
    } else {
      text += child.dump(-1, ' ', false, Json::error_handler_t::replace);
    }
    separator = is_flat ? ", " : ",\n" + blanks + "  ";
  }
  if (!is_flat) text += "\n" + blanks;
  text += close;
}

}  // namespace

std::string json_text(const Json& json) {
  std::string text;
  write(json, 0, text);
  return text + "\n";
}

Json json_number(double value) { return std::isfinite(value) ? Json(value) : Json(); }

}  // namespace assay::reports
