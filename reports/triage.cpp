// Findings of triage as Markdown.
#include "reports/triage.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "harness/findings/fault_text.h"
#include "reports/markdown_text.h"

namespace assay::reports {
namespace {

std::string place_of(const harness::Suspect& suspect) {
  const std::filesystem::path file(suspect.file);
  // Files of other variants may have the same name.
  const std::filesystem::path folder = suspect.is_elsewhere ? file.parent_path().filename() : std::filesystem::path();
  return fmt::format("{}:{}", (folder / file.filename()).string(), suspect.line);
}

// A file name may contain a backtick.
std::string place_in_prose(const harness::Suspect& suspect) {
  const std::string place = place_of(suspect);
  return place.find('`') == std::string::npos ? fmt::format("`{}`", place) : prose(place);
}

std::string headline(const harness::Finding& finding, std::size_t number) {
  std::string text = fmt::format("## {}. {}", number, finding.classification.kind);
  if (!finding.classification.says.empty()) text += ": " + finding.classification.says;
  if (!finding.suspects.empty()) text += fmt::format(" ({})", prose(place_of(finding.suspects.front())));
  return text + "\n\n";
}

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
std::string say(decided::NoFit) { return "no known mistake explains half of the error"; }

std::string fits(const harness::Classification& classification) {
  std::string text = "### Known mistakes\n\n";
  text += fmt::format("**{}**", classification.kind);
  const std::string evidence = std::visit([](const auto& it) { return say(it); }, classification.decided);
  if (!evidence.empty()) text += ": " + evidence;
  text += ".\n\n";
  if (classification.fits.empty()) return text;
  text +=
      "| class | mistake | share of the error explained | failing cases fully explained | passing cases unaffected |\n"
      "|---|---|--:|--:|--:|\n";
  for (const harness::Fit& fit : classification.fits) {
    text += fmt::format("| {} | {} | {:.1f} % | {:.0f} % | {} |\n", fit.kind, fit.says, 100 * fit.goodness, 100 * fit.exact,
                        fit.has_passing ? fmt::format("{:.0f} %", 100 * fit.predicted) : "none passed");
  }
  return text + "\n";
}

std::string sources(const harness::Finding& finding) {
  if (finding.suspects.empty()) return "### Source\n\nNo line was found.\n\n";
  std::string text = "### Source\n\n";
  for (const harness::Suspect& suspect : finding.suspects) {
    text += fmt::format("{}: {}\n\n{}\n", place_in_prose(suspect), suspect.why,
                        code_block(fmt::format("{}", fmt::join(suspect.context, "\n")), "metal"));
    if (!suspect.repaired.empty()) text += fmt::format("repaired:\n\n{}\n", code_block(suspect.repaired, "metal"));
  }
  return text;
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
  const std::string minimal = harness::format_case(finding.minimal.test_case);
  const std::string given = harness::format_case(finding.given.test_case);
  std::string text = headline(finding, number);
  text += fmt::format("{} of {} failing cases {} this cause.\n\n", finding.members.size(), page.failing,
                      finding.members.size() == 1 ? "has" : "have");
  text += fmt::format("### Smallest case\n\n{}\n{}: {}\n\n", code_block(page.replay(minimal)), harness::to_string(finding.minimal.status),
                      prose(harness::reason_of(finding.minimal)));
  text +=
      minimal == given ? std::string("This case was given; no smaller case fails in the same way") : fmt::format("Found from `{}`", given);
  text += fmt::format(" ({} cases tried).\n\n", finding.tried);
  if (!finding.where.empty()) text += "### Where the error occurs\n\nIn the smallest case:\n\n" + list_of(finding.where);
  if (!finding.where_given.empty() && minimal != given) text += "In the original case:\n\n" + list_of(finding.where_given);
  text += fits(finding.classification);
  if (finding.split) {
    if (const auto logic = harness::logic_of(*finding.split)) text += fmt::format("Policy shadow: {}.\n\n", harness::text_of(*logic));
  }
  if (!finding.hazards.empty()) {
    text += "### Hazards\n\n";
    std::vector<std::string> hazards;
    for (const metal::Hazard& hazard : finding.hazards) hazards.push_back(prose(harness::hazard_text(hazard)));
    text += list_of(hazards);
  }
  text += sources(finding);
  text += worst_elements(finding.minimal);
  if (!finding.near.empty()) text += "### Neighbouring cases\n\n" + list_of(finding.near);
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
