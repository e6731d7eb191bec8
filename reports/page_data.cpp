// Builds the JSON data of the HTML page.
#include "reports/page_data.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <map>

#include "harness/findings/fault_text.h"
#include "reports/beyond.h"
#include "reports/cost_counters.h"
#include "reports/figures.h"
#include "reports/json_text.h"
#include "reports/page_json.h"
#include "reports/page_others.h"
#include "reports/places.h"
#include "reports/replay.h"
#include "reports/robustness.h"
#include "reports/run_findings.h"
#include "reports/shared_by_failures.h"
#include "reports/triage_record.h"

namespace assay::reports {
namespace {

using harness::CaseRecord;
using Json = PageJson;

// JavaScript numbers are doubles, so larger integers are written as strings.
Json axis_value(std::int64_t value) {
  constexpr std::int64_t kLargestExact = (std::int64_t{1} << 53) - 1;
  return value >= -kLargestExact && value <= kLargestExact ? Json(value) : Json(fmt::format("{}", value));
}

// Without compared elements there is no error; it is not 0.
double page_compared(const harness::Judgement& judgement, double figure) {
  return judgement.compared == 0 ? std::numeric_limits<double>::quiet_NaN() : figure;
}

constexpr int kPlotDigits = 3;

// What was never written, or is no number, is infinitely far off.
double error_of(const harness::WorstElement& element) {
  const double error = std::abs(element.actual - element.expected);
  return std::isfinite(error) ? error : std::numeric_limits<double>::infinity();
}

class Words {
 public:
  std::size_t place_of(std::string_view word) {
    const auto [place, is_new] = places_.emplace(word, places_.size());
    if (is_new) words_.push_back(place->first);
    return place->second;
  }
  [[nodiscard]] Json take() && { return std::move(words_); }

 private:
  std::map<std::string, std::size_t, std::less<>> places_;
  Json words_ = Json::array();
};

Json json_of(const harness::RunRecord& run, std::span<const CaseRecord> cases) {
  const harness::RunDescription& test_case = run.description;
  const harness::Environment& environment = test_case.environment;
  Json json = {{"id", run.id},
               {"started", run.started},
               {"finished", run.finished},
               {"stopped", run.stopped},
               {"command", test_case.command},
               {"version", test_case.version},
               {"machine", test_case.machine},
               {"schedule", test_case.schedule},
               {"seed", fmt::format("{}", test_case.seed)},
               {"shard", test_case.shard},
               {"selected", test_case.selected},
               {"verdicts", run.verdicts},
               {"failures", run.failures},
               {"without_verdict", without_verdict(run)},
               {"outcome", outcome_text(run)},
               {"outside_limits", test_case.outside_limits},
               {"digest", run.digest},
               {"policy", environment.policy},
               {"compiler", environment.compiler},
               {"flags", environment.flags},
               {"elements", element_text(count_elements(cases))},
               {"notes", test_case.notes},
               {"sources", Json::array()}};
  if (std::string text = robustness_text(run, cases); !text.empty()) json["fast_math"] = std::move(text);
  for (const harness::SourceRecord& source : environment.sources) json["sources"].push_back({source.variant, source.file, source.digest});
  return json;
}

// [file, line], or null where no line is known.
Json place_json(const metal::SourceLocation& place) { return place.line == 0 ? Json() : Json{place.file, place.line}; }

// The line of a case's first defect; else that of a remark or a table for which it fails.
Json place_of_case(const CaseRecord& record) {
  if (const metal::Hazard* const hazard = first_defect(record)) return place_json(hazard->first);
  for (const harness::Fault& fault : record.faults) {
    if (const auto* const remark = fault.as<harness::fault::Remark>()) return place_json(remark->place);
    if (const auto* const table = fault.as<harness::fault::WrongTable>()) return place_json(table->place);
  }
  return nullptr;
}

Json hazards_json(std::span<const metal::Hazard> hazards, const CaseRecord& record, const SourceFiles* files) {
  return json_list(hazards, [&](const metal::Hazard& hazard) {
    Json places = Json::array();
    if (hazard.first.line != 0 && !hazard.lacks_line) places.push_back(place_json(hazard.first));
    if (hazard.second && *hazard.second != hazard.first) places.push_back(place_json(*hazard.second));
    const std::string text = harness::hazard_text(hazard);
    return Json{files == nullptr ? text : files->shortened(text, record), hazard.count, std::move(places)};
  });
}

// {file: {line: text}}, each line once.
Json sources_json(std::span<const CaseRecord> cases) {
  std::map<std::string_view, std::map<std::uint32_t, std::string_view>> sources;
  for (const CaseRecord& record : cases) {
    for (const harness::SourceLine& line : record.lines) sources[line.file].emplace(line.line, line.text);
  }
  Json json = Json::object();
  for (const auto& [file, lines] : sources) {
    Json& of = json[std::string(file)] = Json::object();
    for (const auto& [line, text] : lines) of[fmt::format("{}", line)] = text;
  }
  return json;
}

Json json_of(std::span<const RunFinding> findings, const harness::RunRecord& run, std::span<const CaseRecord> cases) {
  return json_list(findings, [&](const RunFinding& finding) {
    Json json = {{"variant", finding.variant},
                 {"status", finding.status},
                 {"fails", finding.is_failure},
                 {"smallest", finding.smallest},
                 {"ratio", page_number(finding.largest_ratio)},
                 {"members", finding.members}};
    if (Json place = place_of_case(cases[finding.smallest]); !place.is_null()) json["place"] = std::move(place);
    if (const auto causes = causes_of(run.findings, cases, finding.members); !causes.empty()) json["causes"] = causes;
    return json;
  });
}

// The first excerpt alone: `assay triage` prints every suspected line.
Json cause_json(const harness::FindingRecord& cause) {
  return {{"text", headline_of(cause)},
          {"evidence", cause.evidence},
          {"cases", cause.cases.size()},
          {"failing", cause.failing},
          {"replay", cause.replay},
          {"place", place_of(cause)},
          {"why", cause.suspects.empty() ? std::string() : cause.suspects.front().why},
          {"excerpt", cause.suspects.empty() ? std::string() : cause.suspects.front().excerpt},
          {"diff", cause.diff}};
}

// The index of the cause of each case; null without one.
Json cause_column(const std::vector<harness::FindingRecord>& findings, std::span<const CaseRecord> cases) {
  const auto causes = causes_by_case(findings);
  return json_list(cases, [&](const CaseRecord& record) {
    const auto found = causes.find(record.name);
    return found == causes.end() ? Json() : Json(found->second);
  });
}

Json omissions_json(const Omissions& it) {
  return {it.family, json_list(it.omissions, [](const harness::Omission& omission) { return omission_text(omission); })};
}

Json axes_of(std::span<const CaseRecord> cases) {
  Json json = Json::object();
  std::map<std::string, std::size_t> counts;  // number of cases of the family so far
  for (const CaseRecord& record : cases) {
    Json& family = json.emplace(record.family, Json::object()).first.value();
    const std::size_t before = counts[record.family]++;
    for (const auto& [axis, value] : record.axes) {
      Json& column = family.emplace(axis, Json::array()).first.value();
      while (column.size() < before) column.push_back(nullptr);  // for earlier cases without this counter
      column.push_back(axis_value(value));
    }
  }
  return json;
}

Json counters_of(std::span<const CaseRecord> cases) {
  Json json = Json::object();
  const auto add = [&](const char* key, const auto& value_of) {
    Json column = Json::array();
    bool has_any = false;
    for (const CaseRecord& record : cases) {
      column.push_back(value_of(record));
      has_any = has_any || (column.back().is_number() && column.back() != 0);
    }
    if (has_any) json[key] = std::move(column);
  };
  for (const CostCounter& counter : kCostCounters)
    add(counter.key, [&](const CaseRecord& record) { return record.cost ? Json((*record.cost).*counter.value) : Json(); });
  for (const ExecutionCounter& counter : kExecutionCounters)
    add(counter.key, [&](const CaseRecord& record) { return Json(record.counters.*counter.value); });
  return json;
}

}  // namespace

std::string page_data(const harness::RunRecord& run, std::span<const CaseRecord> cases, const PageOthers& others) {
  Words words;
  const SourceFiles files(run, others.root);
  Json columns = Json::object();
  for (const char* name : {"name", "variant", "family", "fixture", "status", "reason", "note", "replay", "seed", "ratio", "sharpness",
                           "compared", "faulty", "seconds", "expected", "error"})
    columns[name] = Json::array();
  for (const CaseRecord& record : cases) {
    harness::ElementCount elements;
    elements.add(record.judgement);
    columns["name"].push_back(record.name);
    columns["variant"].push_back(words.place_of(record.variant));
    columns["family"].push_back(words.place_of(record.family));
    columns["fixture"].push_back(words.place_of(record.fixture));
    columns["status"].push_back(words.place_of(status_name(record)));
    columns["reason"].push_back(words.place_of(files.shortened(harness::reason_of(record), record)));
    columns["note"].push_back(words.place_of(harness::text_of(record.notes)));
    columns["replay"].push_back(words.place_of(replay_options(run, record)));
    columns["seed"].push_back(fmt::format("{}", record.seed));
    // With all digits, so that a comparison with 1 agrees with the verdict.
    columns["ratio"].push_back(page_number(record.judgement.max_ratio));
    columns["sharpness"].push_back(page_rounded(record.judgement.median_bound_ratio));
    columns["compared"].push_back(elements.compared);
    columns["faulty"].push_back(elements.faulty);
    columns["seconds"].push_back(page_rounded(record.simulator_seconds));
    const harness::WorstElement* const worst = record.judgement.worst.empty() ? nullptr : record.judgement.worst.data();
    columns["expected"].push_back(worst == nullptr ? Json() : page_rounded(std::abs(worst->expected), kPlotDigits));
    columns["error"].push_back(worst == nullptr ? Json() : page_rounded(error_of(*worst), kPlotDigits));
  }
  Json json = {
      {"run", json_of(run, cases)},
      {"words", std::move(words).take()},
      {"findings", json_of(run_findings(cases), run, cases)},
      {"statements", json_list(statements(cases), [](const Statement& it) -> Json { return {statement_text(it), it.failed != 0}; })},
      {"omissions", json_list(omissions_of(cases), omissions_json)},
      {"cases", std::move(columns)},
      {"axes", axes_of(cases)},
      {"counters", counters_of(cases)}};
  if (const std::vector<std::string> shared = shared_by_failures(cases); !shared.empty()) json["shared"] = shared;
  if (!run.findings.empty()) {
    json["causes"] = json_list(run.findings, cause_json);
    json["cause_of"] = cause_column(run.findings, cases);
  }
  if (const auto remarks = remark_groups(cases); !remarks.empty())
    json["remarks"] = json_list(remarks, [](const harness::RemarkGroup& group) { return harness::text_of(group); });
  if (Json sources = sources_json(cases); !sources.empty()) json["sources"] = std::move(sources);
  if (others.against != nullptr) json["against"] = against_json(*others.against, cases);
  if (others.histories != nullptr) json["past"] = others.histories->runs_json();
  return page_text(json);
}

std::string page_details(std::span<const CaseRecord> cases, const Histories* histories, const SourceFiles* files) {
  Json json = Json::array();
  for (const CaseRecord& record : cases) {
    const harness::Judgement& judgement = record.judgement;
    Json figures = {{"above_bound", judgement.above_bound},
                    {"not_written", judgement.not_written},
                    {"nans", judgement.nans},
                    {"infs", judgement.infs},
                    {"guard_violations", judgement.guard_violations},
                    {"uninformative", judgement.uninformative},
                    {"distinct_expected", judgement.distinct_expected},
                    {"max_abs_error", page_rounded(page_compared(judgement, judgement.max_abs_error))},
                    {"max_rel_error", page_rounded(page_compared(judgement, judgement.max_rel_error))},
                    {"nmse", page_rounded(page_compared(judgement, judgement.nmse))},
                    {"cosine", page_number(page_compared(judgement, judgement.cosine))},
                    {"oracle_seconds", page_rounded(record.oracle_seconds)}};
    if (!std::isnan(record.rounding_ratio)) figures["rounding_ratio"] = page_rounded(record.rounding_ratio);
    if (!std::isnan(record.logic_ratio)) figures["logic_ratio"] = page_rounded(record.logic_ratio);
    Json& details = json.emplace_back(Json{{"figures", std::move(figures)},
                                           {"schedules", record.schedules},
                                           {"digest", fmt::format("{:016x}", record.digest)},
                                           {"row_length", record.row_length}});
    // Of a case that passed, "expected" and "error" say all that there is.
    const bool has_list = record.status != harness::Status::passed;
    for (const harness::WorstElement& worst : has_list ? std::span(judgement.worst) : std::span<const harness::WorstElement>())
      details["worst"].push_back({worst.index, page_number(worst.expected), page_number(worst.actual), page_rounded(worst.bound),
                                  page_number(worst.ratio), static_cast<int>(worst.fault)});
    if (!record.hazards.empty()) details["hazards"] = hazards_json(record.hazards, record, files);
    if (!record.remarks.empty()) details["remarks"] = hazards_json(record.remarks, record, files);
    for (const harness::StageVerdict& stage : record.stages)
      details["stages"].push_back({stage.name, stage.is_judged, stage.passed, harness::reason_of(stage), stage.judgement.compared,
                                   page_number(stage.judgement.max_ratio)});
    if (!record.known.empty()) details["known"] = record.known;
    if (histories == nullptr) continue;
    if (Json past = histories->case_json(record); !past.is_null()) details["past"] = std::move(past);
  }
  return page_text(json);
}

}  // namespace assay::reports
