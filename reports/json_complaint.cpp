// Rewrites the messages of nlohmann::json.
#include "reports/json_complaint.h"

#include <algorithm>
#include <cstddef>

namespace assay::reports {

std::string json_complaint(std::string_view what) {
  if (what.starts_with('[')) what.remove_prefix(std::min(what.find("] "), what.size() - 2) + 2);
  constexpr std::string_view kPlace = "parse error at ";
  if (what.starts_with(kPlace)) what.remove_prefix(kPlace.size());
  std::string text = "is not JSON: " + std::string(what);
  const auto replace = [&](std::string_view from, std::string_view to) {
    if (const std::size_t place = text.find(from); place != std::string::npos) text.replace(place, from.size(), to);
  };
  // The quoted input at the end stays unchanged.
  constexpr std::string_view kSyntax = "syntax error while parsing ";
  if (text.find(kSyntax) != std::string::npos) {
    replace(kSyntax, "while reading ");
    replace(" - ", ": ");
  }
  return text;
}

}  // namespace assay::reports
