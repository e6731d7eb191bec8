// Renders findings of triage as JSON.
#include "reports/triage_json.h"

#include <nlohmann/json.hpp>

#include "reports/finding_json.h"
#include "reports/json_text.h"
#include "reports/triage_record.h"

namespace assay::reports {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

std::string triage_json(std::span<const TriagedVariant> variants, std::span<const std::string> notes,
                        std::span<const std::string> remarks) {
  const auto text = [](const std::string& line) { return Json(line); };
  return json_text({{"format", "assay-triage"},
                    {"version", kTriageVersion},
                    {"executed_on", "simulator"},
                    {"notes", json_list(notes, text)},
                    {"remarks", json_list(remarks, text)},
                    {"variants", json_list(variants, [](const TriagedVariant& it) -> Json {
                       return {{"variant", it.variant},
                               {"source", it.page.source_file},
                               {"selected", it.page.selected},
                               {"failing", it.page.failing},
                               {"findings", json_list(it.findings, [&](const harness::Finding& finding) {
                                  Json json = finding_json(record_of(it.page, finding));
                                  json["worst"] = worst_json(finding.minimal.judgement.worst, finding.minimal.row_length);
                                  return json;
                                })}};
                     })}});
}

}  // namespace assay::reports
