// Writes findings of triage as JSON.
#include "reports/finding_json.h"

#include <algorithm>

#include "reports/json_text.h"

namespace assay::reports {
namespace {

using Json = nlohmann::ordered_json;

const char* fault_name(harness::ElementFault fault) {
  switch (fault) {
    case harness::ElementFault::above_bound:
      return "above_bound";
    case harness::ElementFault::not_written:
      return "not_written";
    case harness::ElementFault::nan:
      return "nan";
    case harness::ElementFault::infinite:
      return "infinite";
    case harness::ElementFault::none:
      break;
  }
  return "none";
}

}  // namespace

Json finding_json(const harness::FindingRecord& it) {
  return {{"variant", it.variant},
          {"class", it.kind},
          {"says", it.says},
          {"evidence", it.evidence},
          {"smallest", {{"name", it.smallest}, {"status", it.status}, {"reason", it.reason}, {"replay", it.replay}}},
          {"given", it.given},
          {"tried", it.tried},
          {"failing", it.failing},
          {"cases", it.cases},
          {"where", it.where},
          {"where_given", it.where_given},
          {"known_mistakes", json_list(it.fits,
                                       [](const harness::FitRecord& fit) -> Json {
                                         return {{"class", fit.kind},
                                                 {"says", fit.says},
                                                 {"error_explained", json_number(fit.explained)},
                                                 {"failing_fully_explained", json_number(fit.exact)},
                                                 {"passing_unaffected", json_number(fit.unaffected)}};
                                       })},
          {"hazards", it.hazards},
          {"suspects", json_list(it.suspects,
                                 [](const harness::SuspectRecord& suspect) -> Json {
                                   return {{"file", suspect.file},
                                           {"line", suspect.line},
                                           {"why", suspect.why},
                                           {"is_guess", suspect.why.starts_with(harness::kPlaceToLook)},
                                           {"excerpt", suspect.excerpt}};
                                 })},
          {"diff", it.diff.empty() ? Json() : Json(it.diff)},
          {"near", it.near}};
}

Json worst_json(std::span<const harness::WorstElement> worst, std::size_t row_length) {
  const std::size_t length = std::max<std::size_t>(row_length, 1);
  return json_list(worst, [&](const harness::WorstElement& element) -> Json {
    return {{"element", element.index},
            {"row", element.index / length},
            {"coordinate", element.index % length},
            {"expected", json_number(element.expected)},
            {"actual", json_number(element.actual)},
            {"bound", json_number(element.bound)},
            {"error_over_bound", json_number(element.ratio)},
            {"fault", fault_name(element.fault)}};
  });
}

}  // namespace assay::reports
