// Writes a run as Markdown, within a length limit.
#include "reports/run_markdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "harness/findings/fault_text.h"
#include "reports/beyond.h"
#include "reports/executed_on.h"
#include "reports/figures.h"
#include "reports/grouped.h"
#include "reports/markdown_text.h"
#include "reports/places.h"
#include "reports/replay.h"
#include "reports/robustness.h"
#include "reports/run_findings.h"
#include "reports/shared_by_failures.h"
#include "reports/triage_record.h"

namespace assay::reports {
namespace {

using harness::CaseRecord;

constexpr std::size_t kMostFindings = 10;
constexpr std::size_t kMostElements = 3;
constexpr std::size_t kMostNotes = 10;
constexpr std::size_t kLongestLine = 1000;

std::string command_block(std::string_view line) { return code_block(short_line(line, kLongestLine)); }

std::string element_rows(const CaseRecord& record) {
  if (record.judgement.worst.empty()) return {};
  const std::size_t row_length = std::max<std::size_t>(record.row_length, 1);
  std::string text = "| row | coordinate | expected | actual | bound | error / bound |\n|--:|--:|--:|--:|--:|--:|\n";
  for (std::size_t i = 0; i < std::min(kMostElements, record.judgement.worst.size()); ++i) {
    const harness::WorstElement& worst = record.judgement.worst[i];
    const bool is_missing = worst.fault == harness::ElementFault::not_written;
    text += fmt::format("| {} | {} | {:.9g} | {} | {:.3g} | {:.4g} |\n", worst.index / row_length, worst.index % row_length, worst.expected,
                        is_missing ? std::string("never written") : fmt::format("{:.9g}", worst.actual), worst.bound, worst.ratio);
  }
  return text + "\n";
}

// What triage found: class, line, excerpt and diff of each cause.
std::string cause_text(const harness::FindingRecord& cause, std::size_t number) {
  std::string text = fmt::format("#### Cause {}: {}\n\n{} of {} of {} {}; the smallest case that triage found:\n\n{}\n", number,
                                 prose(headline_of(cause)), cause.cases.size(), plural(cause.failing, "failing case"), prose(cause.variant),
                                 cause.share_it(), command_block(cause.replay));
  for (const std::string& sentence : cause.evidence) text += fmt::format("- {}\n", prose(sentence));
  if (!cause.evidence.empty()) text += "\n";
  if (!cause.suspects.empty())
    text += fmt::format("{}:\n\n{}\n", prose(place_of(cause)), code_block(cause.suspects.front().excerpt, "metal"));
  if (!cause.diff.empty()) text += fmt::format("Repaired by:\n\n{}\n", code_block(cause.diff, "diff"));
  return text;
}

// `told`: the causes that were shown already, each once.
std::string finding_text(const harness::RunRecord& run, std::span<const CaseRecord> cases, const RunFinding& finding,
                         const SourceFiles& files, std::set<std::size_t>& told) {
  const CaseRecord& smallest = cases[finding.smallest];
  const std::string reason =
      smallest.status ? files.shortened(harness::reason_of(smallest), smallest) : "the run was stopped before there was a verdict";
  const bool is_alone = finding.members.size() == 1;
  std::string causes;
  for (const std::size_t cause : causes_of(run.findings, cases, finding.members))
    causes += told.insert(cause).second ? cause_text(run.findings[cause], cause + 1) : fmt::format("Cause {}, see above.\n\n", cause + 1);
  return fmt::format("### {}, {}: {}{}\n\n{}{}\n\n{}\n{}{}", prose(finding.variant), finding.status,
                     is_alone ? "" : "in the smallest case, ", prose(reason), plural(finding.members.size(), "case"),
                     is_alone ? ":" : "; the smallest:", command_block(replay_line(run, smallest)), element_rows(smallest), causes);
}

std::string remarks_text(std::span<const CaseRecord> cases) {
  const std::vector<harness::RemarkGroup> groups = remark_groups(cases);
  if (groups.empty()) return {};
  std::string text = "### Remarks\n\n";
  for (std::size_t i = 0; i < std::min(kMostNotes, groups.size()); ++i) text += fmt::format("- {}\n", prose(harness::text_of(groups[i])));
  if (groups.size() > kMostNotes) text += fmt::format("- ... and {}\n", plural(groups.size() - kMostNotes, "further remark"));
  return text + "\n";
}

struct VariantRow {
  std::size_t cases = 0, passed = 0, failed = 0, known = 0, skipped = 0;
  double largest_ratio = 0;

  void add(const CaseRecord& record) {
    ++cases;
    failed += counts_as_failure(record);
    passed += record.status == harness::Status::passed;
    known += record.status == harness::Status::known;
    skipped += record.status == harness::Status::skipped;
    if (!record.status || !harness::is_expected_failure(*record.status))
      largest_ratio = std::max(largest_ratio, record.judgement.max_ratio);
  }
};

std::string variant_table(std::span<const CaseRecord> cases) {
  std::map<std::string, VariantRow> rows;
  for (const CaseRecord& record : cases) rows[record.variant].add(record);
  std::string text = "| variant | cases | passed | failed | known | skipped | largest error / bound |\n|---|--:|--:|--:|--:|--:|--:|\n";
  for (const auto& [variant, row] : rows)
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {:.3g} |\n", prose(variant), row.cases, row.passed, row.failed, row.known,
                        row.skipped, row.largest_ratio);
  return text + "\n";
}

// What the cases about omissions say, and what no other case is about.
std::string beyond_text(std::span<const CaseRecord> cases) {
  std::string text;
  for (const Statement& statement : statements(cases)) text += fmt::format("- {}\n", prose(statement_text(statement)));
  if (!text.empty()) text = "### Beyond the contract\n\n" + text + "\n";
  for (const Omissions& of_family : omissions_of(cases)) {
    text += fmt::format("<details><summary>What no case of the gate of {} does</summary>\n\n", prose(of_family.family));
    for (const harness::Omission& omission : of_family.omissions) text += fmt::format("- {}\n", prose(omission_text(omission)));
    text += "\n</details>\n\n";
  }
  return text;
}

// Adds complete paragraphs while they fit.
class MarkdownPage {
 public:
  void add(const std::string& paragraph) {
    if (is_cut_ || text_.size() + paragraph.size() + kCut.size() > kLongestMarkdown) {
      is_cut_ = true;
    } else {
      text_ += paragraph;
    }
  }
  [[nodiscard]] std::string take() && { return is_cut_ ? text_ + std::string(kCut) : text_; }

 private:
  static constexpr std::string_view kCut = "\n*This report is shortened; `assay report --format html` prints everything.*\n";
  std::string text_;
  bool is_cut_ = false;
};

}  // namespace

std::string run_markdown(const harness::RunRecord& run, std::span<const CaseRecord> cases, const SourceRoot* root) {
  std::vector<RunFinding> findings = run_findings(cases);
  std::erase_if(findings, [](const RunFinding& finding) { return !finding.is_failure; });

  MarkdownPage document;
  document.add(fmt::format("## assay: {}\n\n", outcome_text(run)));
  document.add(element_text(count_elements(cases)) + "; " + executed_text(run.description) + ".\n\n");
  if (const std::string excused = excused_text(count_excused(run, cases)); !excused.empty())
    document.add(fmt::format("Excused: {}.\n\n", prose(excused)));
  if (const std::string text = robustness_text(run, cases); !text.empty()) document.add(fmt::format("{}.\n\n", prose(text)));
  std::string shared;
  for (const std::string& sentence : shared_by_failures(cases)) shared += fmt::format("- {}\n", prose(sentence));
  if (!shared.empty()) document.add(shared + "\n");
  const SourceFiles files(run, root);
  std::set<std::size_t> told;
  for (std::size_t i = 0; i < std::min(kMostFindings, findings.size()); ++i)
    document.add(finding_text(run, cases, findings[i], files, told));
  if (findings.size() > kMostFindings)
    document.add(fmt::format("... and {}.\n\n", plural(findings.size() - kMostFindings, "further finding")));
  for (std::size_t i = 0; i < std::min(kMostFindings, run.findings.size()); ++i) {
    if (told.insert(i).second) document.add(cause_text(run.findings[i], i + 1));
  }
  document.add(remarks_text(cases));
  document.add("### Variants\n\n" + variant_table(cases));
  const std::vector<std::string>& notes = run.description.notes;
  for (std::size_t i = 0; i < std::min(kMostNotes, notes.size()); ++i) document.add(fmt::format("- {}\n", prose(notes[i])));
  if (notes.size() > kMostNotes) document.add(fmt::format("- ... and {}\n", plural(notes.size() - kMostNotes, "further note")));
  if (!notes.empty()) document.add("\n");
  document.add(fmt::format("Run {}, started {}:\n\n{}", run.id, run.started, command_block(run.description.command)));
  document.add(beyond_text(cases));
  return std::move(document).take();
}

}  // namespace assay::reports
