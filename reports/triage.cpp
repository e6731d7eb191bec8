// Findings of triage as Markdown.
#include "reports/triage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/findings/finding_record.h"
#include "reports/markdown_text.h"
#include "reports/triage_record.h"

namespace assay::reports {
namespace {

using harness::FindingRecord;

// A file name may contain a backtick.
std::string place_in_prose(const harness::SuspectRecord& suspect) {
  const std::string place = fmt::format("{}:{}", suspect.file, suspect.line);
  return place.find_first_of("`\n") == std::string::npos ? fmt::format("`{}`", place) : prose(place);
}

std::string evidence(const FindingRecord& record) {
  std::string text = fmt::format("### Evidence\n\n**{}**", prose(record.kind));
  if (record.evidence.size() == 1) return text + fmt::format(": {}.\n\n", prose(record.evidence.front()));
  text += record.evidence.empty() ? ".\n\n" : ":\n\n";
  for (const std::string& sentence : record.evidence) text += fmt::format("- {}\n", prose(sentence));
  return record.evidence.empty() ? text : text + "\n";
}

std::string fits(const FindingRecord& record) {
  if (record.fits.empty()) return {};
  std::string text =
      "### Known mistakes\n\n"
      "| class | mistake | share of the error explained | failing cases fully explained | passing cases unaffected |\n"
      "|---|---|--:|--:|--:|\n";
  for (const harness::FitRecord& fit : record.fits) {
    text += fmt::format("| {} | {} | {:.1f} % | {:.0f} % | {} |\n", prose(fit.kind), prose(fit.says), 100 * fit.explained, 100 * fit.exact,
                        std::isnan(fit.unaffected) ? "none passed" : fmt::format("{:.0f} %", 100 * fit.unaffected));
  }
  return text + "\n";
}

std::string sources(const FindingRecord& record) {
  if (record.suspects.empty()) return "### Source\n\nNo line was found.\n\n";
  std::string text = "### Source\n\n";
  for (const harness::SuspectRecord& suspect : record.suspects)
    text += fmt::format("{}: {}\n\n{}\n", place_in_prose(suspect), prose(suspect.why), code_block(suspect.excerpt, "metal"));
  return text;
}

std::string repair(const FindingRecord& record) {
  if (record.diff.empty()) return {};
  return fmt::format("### Repair\n\nWhat passes with this change is said at its lines above:\n\n{}\n", code_block(record.diff, "diff"));
}

std::string worst_elements(const harness::Verdict& verdict) {
  if (verdict.judgement.worst.empty()) return {};
  std::string text =
      "### Worst elements\n\n| element | row | coordinate | expected | actual | bound | error / bound |\n|--:|--:|--:|--:|--:|--:|--:|\n";
  const std::size_t length = std::max<std::size_t>(verdict.row_length, 1);
  for (const harness::WorstElement& element : verdict.judgement.worst) {
    if (element.fault == harness::ElementFault::none) continue;
    text += fmt::format(
        "| {} | {} | {} | {:.9g} | {} | {:.3g} | {:.3g} |\n", element.index, element.index / length, element.index % length,
        element.expected,
        element.fault == harness::ElementFault::not_written ? std::string("never written") : fmt::format("{:.9g}", element.actual),
        element.bound, element.ratio);
  }
  return text + "\n";
}

std::string list_of(const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& sentence : sentences) text += fmt::format("- {}\n", sentence);
  return text + "\n";
}

std::string finding_text(const TriagePage& page, const harness::Finding& finding, std::size_t number) {
  const FindingRecord record = record_of(page, finding);
  std::string text = fmt::format("## {}. {}\n\n", number, prose(headline_of(record)));
  text += fmt::format("{} of {} failing cases {}.\n\n", record.cases.size(), record.failing, record.share_it());
  text += fmt::format("### Smallest case\n\n{}\n{}: {}\n\n", code_block(record.replay), record.status, prose(record.reason));
  text += record.smallest == record.given ? std::string("This case was given; no smaller case fails in the same way")
                                          : fmt::format("Found from `{}`", record.given);
  text += fmt::format(" ({} cases tried).\n\n", record.tried);
  if (!record.where.empty()) text += "### Where the error occurs\n\nIn the smallest case:\n\n" + list_of(record.where);
  if (!record.where_given.empty() && record.smallest != record.given) text += "In the original case:\n\n" + list_of(record.where_given);
  text += evidence(record) + fits(record);
  if (!record.hazards.empty()) {
    text += "### Hazards\n\n";
    for (const std::string& hazard : record.hazards) text += fmt::format("- {}\n", prose(hazard));
    text += "\n";
  }
  text += sources(record) + repair(record) + worst_elements(finding.minimal);
  if (!record.near.empty()) text += "### Neighbouring cases\n\n" + list_of(record.near);
  return text;
}

}  // namespace

std::string triage_markdown(const TriagePage& page, std::span<const harness::Finding> findings) {
  std::string text =
      fmt::format("# Triage of {}\n\n{} of {} case{} failed, {} finding{}. Executed on the simulator.\n\n", prose(page.subject),
                  page.failing, page.selected, page.selected == 1 ? "" : "s", findings.size(), findings.size() == 1 ? "" : "s");
  for (const std::string& note : page.notes) text += fmt::format("note: {}\n\n", prose(note));
  for (std::size_t i = 0; i < findings.size(); ++i) text += finding_text(page, findings[i], i + 1);
  return text;
}

}  // namespace assay::reports
