// Makes annotations of runs and of findings.
#include "reports/annotation.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "harness/findings/fault_text.h"
#include "harness/triage/ordered.h"
#include "reports/grouped.h"
#include "reports/places.h"
#include "reports/replay.h"
#include "reports/run_findings.h"
#include "reports/triage_record.h"

namespace assay::reports {
namespace {

using harness::CaseRecord;

// "race between simdgroups" -> "race-between-simdgroups".
std::string slug(std::string_view words) {
  std::string text(words);
  std::ranges::replace(text, ' ', '-');
  return text;
}

constexpr std::string_view kVerdictRule =
    "Cases of the kernel do not pass, and no line is known to cause it. `assay triage` searches for the line.";

Annotation cause_annotation(const harness::FindingRecord& cause, const Places& places) {
  Annotation result{
      .rule = "cause/" + slug(cause.kind),
      .rule_says = fmt::format("Cause of failing cases that `assay triage` found: {}.", cause.kind),
      .subject = cause.variant,
      .title = fmt::format("{}: {}", cause.variant, headline_of(cause)),
      .message = fmt::format("{} of {} {}\n", grouped(cause.cases.size()), plural(cause.failing, "failing case"), cause.share_it()),
      .place = places.of(cause),
      .related = {}};
  for (const std::string& sentence : cause.evidence) result.message += sentence + "\n";
  result.message += fmt::format("smallest case: {}\n", cause.replay);
  if (!cause.diff.empty()) result.message += "repaired by:\n" + cause.diff;
  for (std::size_t i = 1; i < cause.suspects.size(); ++i)
    result.related.push_back({places.of_suspect(cause.variant, cause.suspects[i]), cause.suspects[i].why});
  return result;
}

// A hazard of failing cases. Under --strict a remark can be one.
struct SeenHazard {
  const metal::Hazard* hazard = nullptr;
  const CaseRecord* first = nullptr;
  std::size_t cases = 0;
};

Annotation hazard_annotation(const harness::RunRecord& run, const SeenHazard& seen, const Places& places) {
  const metal::Hazard& hazard = *seen.hazard;
  Annotation result{.rule = "hazard/" + slug(metal::to_string(hazard.kind)),
                    .rule_says = fmt::format("Hazard: {}. A correct kernel never causes it, whatever the output of this run was.",
                                             metal::to_string(hazard.kind)),
                    .subject = seen.first->variant,
                    .title = fmt::format("{}: {}", seen.first->variant, metal::to_string(hazard.kind)),
                    .message = fmt::format("{}\nin {}; again: {}\n", harness::hazard_text(hazard), plural(seen.cases, "case"),
                                           replay_line(run, *seen.first)),
                    .place = places.of(hazard.first),
                    .related = {}};
  if (hazard.second && hazard.second->line != 0) result.related.push_back({places.of(*hazard.second), "the other party"});
  return result;
}

// Defects of failing cases, in the order of their first cases.
std::vector<SeenHazard> seen_hazards(std::span<const CaseRecord> cases) {
  using Key = std::tuple<std::string, metal::HazardKind, std::string, std::uint32_t>;
  std::map<Key, std::size_t> indices;
  std::vector<SeenHazard> seen;
  for (const CaseRecord& record : cases) {
    if (!counts_as_failure(record)) continue;
    std::set<std::size_t> of_case;
    for (const metal::Hazard& hazard : record.hazards) {
      if (!metal::is_defect(hazard.kind)) continue;
      const auto [place, is_new] = indices.emplace(Key{record.variant, hazard.kind, hazard.first.file, hazard.first.line}, seen.size());
      if (is_new) seen.push_back({&hazard, &record, 0});
      if (of_case.insert(place->second).second) ++seen[place->second].cases;
    }
  }
  return seen;
}

Annotation verdict_annotation(const harness::RunRecord& run, std::span<const CaseRecord> cases, const RunFinding& finding,
                              const Places& places) {
  const CaseRecord& smallest = cases[finding.smallest];
  std::string message = fmt::format("{}\n{}; {}again: {}\n", harness::reason_of(smallest), plural(finding.members.size(), "similar case"),
                                    finding.members.size() == 1 ? "" : "the smallest ", replay_line(run, smallest));
  const metal::SourceLocation place = places.of(smallest);
  if (place.line == 0) message += "no line is known: `assay triage` searches for it\n";
  return {.rule = slug(finding.status),
          .rule_says = std::string(kVerdictRule),
          .subject = finding.variant,
          .title = fmt::format("{}: {} {}", finding.variant, plural(finding.members.size(), "case"), finding.status),
          .message = std::move(message),
          .place = place,
          .related = {}};
}

Annotation remark_annotation(const harness::RemarkGroup& group, bool is_failure, const Places& places) {
  Annotation result{
      .level = is_failure ? Level::error : Level::warning,
      .rule = "remark/" + slug(metal::to_string(group.first.kind)),
      .rule_says = fmt::format("Remark of policy checked: {}. Under --strict it fails a case.", metal::to_string(group.first.kind)),
      .subject = group.variant,
      .title = fmt::format("{}: {}", group.variant, metal::to_string(group.first.kind)),
      .message = fmt::format("{}\nfirst in {}\n", harness::text_of(group), group.case_name),
      .place = places.of(group.first.first),
      .related = {}};
  if (group.first.second && group.first.second->line != 0) result.related.push_back({places.of(*group.first.second), "the other party"});
  return result;
}

// Whether hazards and remarks say all of what is wrong with a case.
bool is_told_by_checks(const CaseRecord& record) {
  if (std::ranges::any_of(record.hazards, [](const metal::Hazard& hazard) { return metal::is_defect(hazard.kind); })) return true;
  return !record.faults.empty() &&
         std::ranges::all_of(record.faults, [](const harness::Fault& fault) { return fault.kind() == harness::FaultKind::remark; });
}

Annotation missing_annotation(const harness::RunRecord& run, const Places& places) {
  const auto& sources = run.description.environment.sources;
  const std::string selected = plural(run.description.selected, "selected case");
  return {
      .rule = "no-verdict",
      .rule_says = "A run that was stopped or killed has cases without a verdict, which count as failures.",
      .subject = "run",
      .title = fmt::format("{} of {} without a verdict", grouped(without_verdict(run)), selected),
      .message = fmt::format("the run ended before these cases had one; `assay run --resume` continues it: {}\n", run.description.command),
      .place = sources.size() == 1 ? places.of_source(sources.front().variant) : metal::SourceLocation{},
      .related = {}};
}

}  // namespace

std::vector<Annotation> annotations_of(const harness::RunRecord& run, std::span<const CaseRecord> cases, const SourceRoot& root) {
  const Places places(run, root);
  std::vector<Annotation> annotations;
  std::set<std::pair<std::string, std::uint32_t>> told;  // lines that a cause explains
  for (const harness::FindingRecord& cause : run.findings) {
    annotations.push_back(cause_annotation(cause, places));
    const metal::SourceLocation& place = annotations.back().place;
    if (place.line != 0) told.emplace(place.file, place.line);
  }
  for (const SeenHazard& seen : seen_hazards(cases)) {
    Annotation hazard = hazard_annotation(run, seen, places);
    if (!told.contains({hazard.place.file, hazard.place.line})) annotations.push_back(std::move(hazard));
  }
  for (const RunFinding& finding : run_findings(cases)) {
    const CaseRecord& smallest = cases[finding.smallest];
    const bool is_told = is_told_by_checks(smallest) || !smallest.status || !causes_of(run.findings, cases, finding.members).empty();
    if (finding.is_failure && !is_told) annotations.push_back(verdict_annotation(run, cases, finding, places));
  }
  if (without_verdict(run) != 0) annotations.push_back(missing_annotation(run, places));
  std::set<std::pair<std::string, metal::HazardKind>> failing_remarks;
  for (const CaseRecord& record : cases) {
    for (const harness::Fault& fault : record.faults) {
      const auto* remark = fault.as<harness::fault::Remark>();
      if (remark != nullptr && counts_as_failure(record)) failing_remarks.emplace(record.variant, remark->hazard);
    }
  }
  for (const harness::RemarkGroup& group : remark_groups(cases))
    annotations.push_back(remark_annotation(group, failing_remarks.contains({group.variant, group.first.kind}), places));
  harness::order_by(annotations, [](const Annotation& it) { return -static_cast<double>(it.level); });
  return annotations;
}

std::vector<Annotation> annotations_of(std::span<const TriagedVariant> variants, const SourceRoot& root) {
  std::vector<Annotation> annotations;
  harness::RunRecord run;
  for (const TriagedVariant& it : variants) run.description.environment.sources.push_back({it.variant, it.page.source_file, ""});
  const Places places(run, root);
  for (const TriagedVariant& it : variants) {
    for (const harness::Finding& finding : it.findings) annotations.push_back(cause_annotation(record_of(it.page, finding), places));
  }
  return annotations;
}

}  // namespace assay::reports
