// A comparison of two iterations as JSON.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/findings/fault_text.h"
#include "harness/ledger/executed_on.h"
#include "reports/comparison.h"
#include "reports/json_text.h"

namespace assay::reports {
namespace {

using harness::CaseComparison;
using harness::ChangedText;
using harness::Distance;
using harness::OneSidedCase;
using harness::Parting;
using harness::PartingSide;
using Json = nlohmann::ordered_json;

Json json_of(const Distance& distance) {
  return {{"value", json_number(distance.value)},
          {"index", distance.index},
          {"old", json_number(distance.old_value)},
          {"new", json_number(distance.new_value)}};
}

Json json_of(const PartingSide& side) {
  return {{"file", side.file}, {"line", side.line}, {"text", side.text}, {"value", side.value ? json_number(*side.value) : Json()}};
}

Json json_of(const Parting& parting, const std::optional<harness::CasePair>& pair) {
  const auto changes = json_list(parting.changes, [](const ChangedText& change) -> Json {
    return {{"old_line", change.hunk.old_first},
            {"new_line", change.hunk.new_first},
            {"old", change.old_lines},
            {"new", change.new_lines},
            {"holds_parting", change.holds_parting}};
  });
  return {{"old_case", pair ? harness::format_case(pair->old_case) : ""},
          {"new_case", pair ? harness::format_case(pair->new_case) : ""},
          {"function", parting.function},
          {"dispatch", parting.dispatch},
          {"threadgroup", {parting.threadgroup.x, parting.threadgroup.y, parting.threadgroup.z}},
          {"thread", parting.thread},
          {"place", parting.place},
          {"chunk", parting.chunk ? Json(*parting.chunk) : Json()},
          {"occurrence", parting.occurrence},
          {"agreed", parting.agreed},
          {"old", json_of(parting.old_side)},
          {"new", json_of(parting.new_side)},
          {"is_cut", parting.is_cut},
          {"changes", changes},
          {"further_changes", parting.further_changes}};
}

Json json_of(const std::vector<OneSidedCase>& cases) {
  return json_list(cases, [](const OneSidedCase& one) -> Json { return {{"case", one.name}, {"reason", one.reason}}; });
}

}  // namespace

std::string comparison_json(const ComparisonRun& run) {
  const auto variant = [](const kernels::Variant& one) { return Json{{"variant", one.name}, {"source", one.source.string()}}; };
  Json json = {{"format", "assay-comparison"},
               {"version", kComparisonVersion},
               {"command", run.command},
               {"suite", run.suite},
               {"executed_on", harness::device_of(run.replay_options)},
               {"old", variant(run.old_variant)},
               {"new", variant(run.new_variant)},
               {"headline", comparison_headline(run)}};
  const auto count = [&](bool (*is_one)(const CaseComparison&)) { return std::ranges::count_if(run.cases.cases, is_one); };
  const auto compared = count([](const CaseComparison& one) { return one.is_compared; });
  const auto other = count([](const CaseComparison& one) { return one.differs(); });
  json["summary"] = {{"compared", compared},
                     {"same_bits", compared - other},
                     {"other_bits", other},
                     {"broke", count([](const CaseComparison& one) { return one.broke(); })},
                     {"healed", count([](const CaseComparison& one) { return one.healed(); })},
                     {"only_old", run.cases.only_old.size()},
                     {"only_new", run.cases.only_new.size()},
                     {"skipped", run.cases.skipped}};
  json["cases"] = json_list(run.cases.cases, [](const CaseComparison& one) -> Json {
    return {{"old", harness::format_case(one.pair.old_case)},
            {"new", harness::format_case(one.pair.new_case)},
            {"old_status", harness::to_string(one.old_side.status)},
            {"new_status", harness::to_string(one.new_side.status)},
            {"old_reason", harness::reason_of(one.old_side)},
            {"new_reason", harness::reason_of(one.new_side)},
            {"old_error_over_bound", json_number(one.old_side.max_ratio)},
            {"new_error_over_bound", json_number(one.new_side.max_ratio)},
            {"same_bits", one.is_compared ? Json(one.is_same_bits) : Json()},
            {"elements", one.elements},
            {"differing", one.differing},
            {"ulps", json_of(one.ulps)},
            {"bounds", json_of(one.bounds)}};
  });
  json["only_old"] = json_of(run.cases.only_old);
  json["only_new"] = json_of(run.cases.only_new);
  json["declared"] = json_list(declared_rows(run.old_variant, run.new_variant), [](const DeclaredRow& row) -> Json {
    return {{"key", row.key}, {"old", row.old_value}, {"new", row.new_value}};
  });
  json["claims"] = json_list(run.claims, [](const harness::ClaimResult& claim) -> Json {
    return {{"claimant", claim.claimant},
            {"claim", claim.claim},
            {"tried", claim.tried},
            {"broken", claim.broken},
            {"first_broken", claim.first_broken}};
  });
  const auto cost_row = [](const CostRow& row) -> Json {
    return {{"counter", row.name}, {"old", row.before}, {"new", row.after}, {"at_least", row.least ? Json(*row.least) : Json()}};
  };
  json["costs"] = {{"cases", run.costs.cases}, {"rows", json_list(cost_rows(run.costs), cost_row)}};
  json["smallest"] = run.smallest ? Json(harness::format_case(run.smallest->new_case)) : Json();
  json["parting"] = run.parting.parting ? json_of(*run.parting.parting, run.smallest) : Json();
  json["notes"] = run.notes;
  json["stopped"] = run.cases.stopped;
  json["seconds"] = run.seconds;
  return json.dump(2) + "\n";
}

}  // namespace assay::reports
