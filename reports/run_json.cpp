// Writes a run as JSON.
#include "reports/run_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/findings/fault_text.h"
#include "reports/beyond.h"
#include "reports/cost_counters.h"
#include "reports/executed_on.h"
#include "reports/figures.h"
#include "reports/finding_json.h"
#include "reports/json_text.h"
#include "reports/replay.h"
#include "reports/robustness.h"
#include "reports/run_findings.h"
#include "reports/shared_by_failures.h"
#include "reports/triage_record.h"

namespace assay::reports {
namespace {

using harness::CaseRecord;
using Json = nlohmann::ordered_json;

Json json_of(const harness::RunRecord& run) {
  const harness::RunDescription& test_case = run.description;
  const harness::Environment& environment = test_case.environment;
  const auto sources = json_list(environment.sources, [](const harness::SourceRecord& source) -> Json {
    return {{"variant", source.variant}, {"file", source.file}, {"digest", source.digest}};
  });
  return {{"id", run.id},
          {"started", run.started},
          {"finished", run.finished.empty() ? Json() : Json(run.finished)},
          {"stopped", run.stopped},
          {"command", test_case.command},
          {"assay_version", test_case.version},
          {"machine", test_case.machine},
          {"executed_on", executed_on(test_case)},
          {"policy", environment.policy},
          {"schedule", test_case.schedule},
          {"seed", test_case.seed},
          {"shard", test_case.shard},
          {"digest", run.digest},
          {"build", environment.build},
          {"compiler", environment.compiler},
          {"compiler_options", environment.flags},
          {"notes", test_case.notes},
          {"sources", sources}};
}

Json json_of(const harness::ElementCount& elements) { return {{"compared", elements.compared}, {"faulty", elements.faulty}}; }

Json summary_of(const harness::RunRecord& run, std::span<const CaseRecord> cases) {
  Json statuses = Json::object();
  for (const CaseRecord& record : cases) {
    Json& count = statuses.emplace(std::string(status_name(record)), 0).first.value();
    count = count.get<std::size_t>() + 1;
  }
  // Cases that were never started have no row in the ledger.
  const std::size_t missing = without_verdict(run);
  if (missing != 0) statuses["no verdict"] = missing;
  const RunElements elements = count_elements(cases);
  const Excused excused = count_excused(run, cases);
  Json json = {{"selected", run.description.selected},
               {"verdicts", run.verdicts},
               {"without_verdict", missing},
               {"failures", run.failures + missing},
               {"outside_limits", run.description.outside_limits},
               {"excused",
                {{"known", excused.known},
                 {"skipped", excused.skipped},
                 {"outside_limits", excused.outside_limits},
                 {"weaker_accuracy", excused.weaker_accuracy}}},
               {"statuses", std::move(statuses)},
               {"elements", json_of(elements.judged)},
               {"known_elements", json_of(elements.known)}};
  if (const auto robustness = find_robustness(run, cases)) {
    const std::optional<bool> passes = robustness->passes();
    json["fast_math"] = {{"passes", passes ? Json(*passes) : Json()},
                         {"largest_error_over_bound", json_number(robustness->largest_ratio)},
                         {"case", robustness->largest_ratio_case},
                         {"passed", robustness->passed},
                         {"failed", robustness->failed},
                         {"undecided", robustness->undecided},
                         {"text", robustness_text(*robustness)}};
  }
  return json;
}

Json findings_of(std::span<const CaseRecord> cases) {
  return json_list(run_findings(cases), [&](const RunFinding& finding) -> Json {
    return {{"variant", finding.variant},
            {"status", finding.status},
            {"is_failure", finding.is_failure},
            {"reason", harness::reason_of(cases[finding.smallest])},
            {"smallest", cases[finding.smallest].name},
            {"largest_error_over_bound", json_number(finding.largest_ratio)},
            {"cases", json_list(finding.members, [&](std::size_t member) { return cases[member].name; })}};
  });
}

Json remarks_of(std::span<const CaseRecord> cases) {
  return json_list(remark_groups(cases), [](const harness::RemarkGroup& group) -> Json {
    return {{"variant", group.variant},       {"kind", metal::to_string(group.first.kind)},
            {"file", group.first.first.file}, {"line", group.first.first.line},
            {"functions", group.functions},   {"count", group.first.count},
            {"cases", group.cases},           {"first_case", group.case_name},
            {"text", harness::text_of(group)}};
  });
}

Json statements_of(std::span<const CaseRecord> cases) {
  return json_list(statements(cases), [](const Statement& it) -> Json {
    return {{"variant", it.variant},      {"omission", it.id},     {"ability", it.ability},
            {"text", statement_text(it)}, {"passed", it.passed},   {"not_required", it.not_required},
            {"failed", it.failed},        {"skipped", it.skipped}, {"example", it.example}};
  });
}

Json omissions_json(std::span<const CaseRecord> cases) {
  Json json = Json::array();
  for (const Omissions& of_family : omissions_of(cases)) {
    for (const harness::Omission& omission : of_family.omissions)
      json.push_back({{"family", of_family.family},
                      {"id", omission.id},
                      {"sentence", omission.sentence},
                      {"ability", omission.ability.empty() ? Json() : Json(omission.ability)}});
  }
  return json;
}

// Without compared elements there is no error; it is not 0.
Json of_compared(const harness::Judgement& judgement, double figure) { return judgement.compared == 0 ? Json() : json_number(figure); }

Json judgement_of(const CaseRecord& record) {
  const harness::Judgement& judgement = record.judgement;
  harness::ElementCount elements;
  elements.add(judgement);
  return {{"compared", elements.compared},
          {"faulty", elements.faulty},
          {"above_bound", judgement.above_bound},
          {"not_written", judgement.not_written},
          {"nans", judgement.nans},
          {"infs", judgement.infs},
          {"guard_violations", judgement.guard_violations},
          {"uninformative", judgement.uninformative},
          {"distinct_expected", judgement.distinct_expected},
          {"error_over_bound", elements.compared == 0 ? Json() : json_number(judgement.max_ratio)},
          {"max_abs_error", of_compared(judgement, judgement.max_abs_error)},
          {"max_rel_error", of_compared(judgement, judgement.max_rel_error)},
          {"nmse", of_compared(judgement, judgement.nmse)},
          {"cosine", of_compared(judgement, judgement.cosine)},
          {"median_bound_over_magnitude", json_number(judgement.median_bound_ratio)},
          {"rounding_over_bound", json_number(record.rounding_ratio)},
          {"logic_over_bound", json_number(record.logic_ratio)}};
}

Json counters_of(const CaseRecord& record) {
  Json json = Json::object();
  for (const ExecutionCounter& counter : kExecutionCounters) json[counter.key] = record.counters.*counter.value;
  if (!record.cost) return json;
  for (const CostCounter& counter : kCostCounters) json[counter.key] = (*record.cost).*counter.value;
  return json;
}

Json json_of(const harness::RunRecord& run, const CaseRecord& record) {
  const harness::Judgement& judgement = record.judgement;
  Json json = {{"name", record.name},
               {"variant", record.variant},
               {"family", record.family},
               {"fixture", record.fixture},
               {"seed", record.seed},
               {"status", status_name(record)},
               {"reason", harness::reason_of(record)},
               {"note", harness::text_of(record.notes)},
               {"replay", replay_line(run, record)},
               {"schedules", record.schedules},
               {"digest", fmt::format("{:016x}", record.digest)},
               {"oracle_seconds", json_number(record.oracle_seconds)},
               {"simulator_seconds", json_number(record.simulator_seconds)},
               {"axes", Json::object()},
               {"judgement", judgement_of(record)},
               {"counters", counters_of(record)}};
  for (const auto& [axis, value] : record.axes) json["axes"][axis] = value;
  // Rare members are omitted if they are empty.
  if (!judgement.worst.empty()) json["worst"] = worst_json(judgement.worst, record.row_length);
  if (!record.known.empty()) json["known_findings"] = record.known;
  for (const metal::Hazard& hazard : record.hazards)
    json["hazards"].push_back(Json{{"kind", metal::to_string(hazard.kind)},
                                   {"function", hazard.function},
                                   {"message", hazard.message},
                                   {"file", hazard.first.file},
                                   {"line", hazard.first.line},
                                   {"count", hazard.count}});
  for (const harness::StageVerdict& stage : record.stages)
    json["stages"].push_back(Json{{"name", stage.name},
                                  {"is_judged", stage.is_judged},
                                  {"passed", stage.passed},
                                  {"reason", harness::reason_of(stage)},
                                  {"compared", stage.judgement.compared},
                                  {"error_over_bound", json_number(stage.judgement.max_ratio)}});
  return json;
}

}  // namespace

std::string run_json(const harness::RunRecord& run, std::span<const CaseRecord> cases) {
  const Json remarks = remarks_of(cases);
  const auto causes = causes_by_case(run.findings);
  const auto case_json = [&](const CaseRecord& record) {
    Json json = json_of(run, record);
    if (const auto cause = causes.find(record.name); cause != causes.end()) json["cause"] = cause->second;
    return json;
  };
  Json json = {{"format", "assay-report"},           {"version", kReportVersion},           {"run", json_of(run)},
               {"summary", summary_of(run, cases)},  {"findings", findings_of(cases)},      {"statements", statements_of(cases)},
               {"omissions", omissions_json(cases)}, {"cases", json_list(cases, case_json)}};
  if (const std::vector<std::string> shared = shared_by_failures(cases); !shared.empty()) json["shared_by_failures"] = shared;
  if (!run.findings.empty()) json["causes"] = json_list(run.findings, finding_json);
  if (!remarks.empty()) json["remarks"] = remarks;
  return json_text(json);
}

}  // namespace assay::reports
