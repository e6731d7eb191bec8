// Puts findings of triage into words.
#include "reports/triage_record.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>
#include <utility>

#include "harness/findings/fault_text.h"
#include "reports/unified_diff.h"

namespace assay::reports {
namespace {

namespace decided = harness::decided;

std::string say(std::monostate) { return {}; }
std::string say(const metal::Hazard& it) { return it.message; }
std::string say(const std::vector<harness::Fault>& it) { return harness::reason_of(it); }
std::string say(decided::OrderDependence) { return "output bits depend on the order of simdgroups"; }
std::string say(decided::NeverWritten it) { return fmt::format("{} of {} faulty elements were never written", it.unwritten, it.faulty); }
std::string say(decided::BestFit it) {
  return fmt::format("this mistake explains {:.1f} % of the error of the failing cases", 100 * it.goodness);
}
std::string say(decided::Precision it) {
  return fmt::format(
      "without rounding the output would be right: the rounding error is {:.3g} times the bound, the logic error {:.3g} times", it.rounding,
      it.logic);
}
std::string say(decided::Repaired) { return "the class is that of what the repair changes, for the output alone does not tell it"; }
std::string say(decided::Common) { return "the class is that of what failing cases have in common, for their output does not tell it"; }
std::string say(decided::Landmark) {
  return "the class is that of the first value that is computed wrongly, for the output alone does not tell it";
}
std::string say(decided::NoFit) { return "no known mistake explains half of the error"; }

std::vector<std::string> evidence_of(const harness::Finding& finding) {
  std::vector<std::string> evidence;
  if (std::string decisive = std::visit([](const auto& it) { return say(it); }, finding.classification.decided); !decisive.empty())
    evidence.push_back(std::move(decisive));
  if (!finding.common.empty()) evidence.push_back(finding.common);
  if (finding.split) {
    if (const auto logic = harness::logic_of(*finding.split)) evidence.push_back("policy shadow: " + harness::text_of(*logic));
  }
  return evidence;
}

}  // namespace

harness::FindingRecord record_of(const TriagePage& page, const harness::Finding& finding) {
  harness::FindingRecord record;
  record.variant = finding.given.test_case.variant;
  record.kind = finding.classification.kind;
  record.says = finding.classification.says;
  record.evidence = evidence_of(finding);
  record.smallest = harness::format_case(finding.minimal.test_case);
  record.status = harness::to_string(finding.minimal.status);
  record.reason = harness::reason_of(finding.minimal);
  record.replay = page.replay(record.smallest);
  record.given = harness::format_case(finding.given.test_case);
  record.tried = finding.tried;
  record.failing = page.failing;
  record.cases = finding.members;
  record.where = finding.where;
  record.where_given = finding.where_given;
  for (const metal::Hazard& hazard : finding.hazards) record.hazards.push_back(harness::hazard_text(hazard));
  record.near = finding.near;
  for (const harness::Fit& fit : finding.classification.fits)
    record.fits.push_back(
        {std::string(fit.kind), fit.says, fit.goodness, fit.exact, fit.has_passing ? fit.predicted : harness::FitRecord{}.unaffected});
  for (const harness::Suspect& suspect : finding.suspects) {
    const std::filesystem::path file(suspect.file);
    // Files of other variants may have the same name.
    const std::filesystem::path folder = suspect.is_elsewhere ? file.parent_path().filename() : std::filesystem::path();
    record.suspects.push_back(
        {(folder / file.filename()).string(), suspect.line, suspect.why, fmt::format("{}", fmt::join(suspect.context, "\n"))});
  }
  if (!finding.repaired_source.empty())
    record.diff = unified_diff(std::filesystem::path(page.source_file).filename().string(), page.source_text, finding.repaired_source);
  return record;
}

std::string place_of(const harness::FindingRecord& finding) {
  if (finding.suspects.empty()) return {};
  return fmt::format("{}:{}", finding.suspects.front().file, finding.suspects.front().line);
}

std::string headline_of(const harness::FindingRecord& finding) {
  std::string text = finding.kind;
  // A known mistake that leaves a part of the error may only be like the one that was made.
  constexpr double most = 0.9;
  const auto fit = std::ranges::find_if(
      finding.fits, [&](const harness::FitRecord& one) { return one.kind == finding.kind && one.says == finding.says; });
  if (finding.diff.empty() && fit != finding.fits.end() && fit->explained < most) text += ", perhaps";
  if (!finding.says.empty()) text += ": " + finding.says;
  const bool is_named = !finding.suspects.empty() && !finding.suspects.front().why.starts_with(harness::kPlaceToLook);
  if (is_named) text += fmt::format(" ({})", place_of(finding));
  return text;
}

std::map<std::string_view, std::size_t> causes_by_case(const std::vector<harness::FindingRecord>& findings) {
  std::map<std::string_view, std::size_t> causes;
  for (std::size_t i = 0; i < findings.size(); ++i) {
    for (const std::string& name : findings[i].cases) causes.emplace(name, i);
  }
  return causes;
}

std::vector<std::size_t> causes_of(const std::vector<harness::FindingRecord>& findings, std::span<const harness::CaseRecord> cases,
                                   std::span<const std::size_t> members) {
  std::set<std::string_view> names;
  if (!findings.empty()) {
    for (const std::size_t member : members) names.insert(cases[member].name);
  }
  std::vector<std::size_t> causes;
  for (std::size_t i = 0; i < findings.size(); ++i) {
    if (std::ranges::any_of(findings[i].cases, [&](const std::string& name) { return names.contains(name); })) causes.push_back(i);
  }
  return causes;
}

}  // namespace assay::reports
