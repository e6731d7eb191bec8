// Writes a run as text for a terminal.
#include "reports/run_text.h"

#include <fmt/format.h>

#include <string_view>

#include "base/text.h"
#include "harness/findings/fault_text.h"
#include "reports/executed_on.h"
#include "reports/figures.h"
#include "reports/replay.h"
#include "reports/robustness.h"
#include "reports/run_findings.h"
#include "reports/triage_record.h"

namespace assay::reports {
namespace {

std::string case_text(const harness::RunRecord& run, const harness::CaseRecord& record) {
  return fmt::format("{} {}\n  {}\n{}  replay: {}\n", status_name(record), record.name,
                     record.status ? harness::reason_of(record) : "the run was stopped before there was a verdict",
                     record.notes.empty() ? "" : fmt::format("  note: {}\n", harness::text_of(record.notes)), replay_line(run, record));
}

// Lines of other files are indented, so that they cannot look like ours.
std::string cause_text(const harness::FindingRecord& cause) {
  std::string text = fmt::format("  cause: {}\n    smallest case: {}\n", headline_of(cause), cause.replay);
  const std::string excerpt = cause.suspects.empty() ? std::string() : cause.suspects.front().excerpt;
  for (const std::string* lines : {&excerpt, &cause.diff}) {
    for (const std::string_view line : base::lines_of(*lines)) text += fmt::format("    {}\n", line);
  }
  return text;
}

}  // namespace

std::string run_headline(const harness::RunRecord& run) {
  const std::string end = run.finished.empty() ? "did not finish" : run.stopped ? "stopped " + run.finished : "ended " + run.finished;
  const std::size_t outside = run.description.outside_limits;
  return fmt::format("run {}: {} of {} cases with a verdict, {} not passed{}; started {}, {}; {}\n", run.id, run.verdicts,
                     run.description.selected, run.failures, outside == 0 ? "" : fmt::format(", {} outside of [limits]", outside),
                     run.started, end, run.description.command);
}

std::string run_text(const harness::RunRecord& run, std::span<const harness::CaseRecord> cases) {
  std::string text = run_headline(run) + element_text(count_elements(cases)) + '\n';
  if (const std::string robustness = robustness_text(run, cases); !robustness.empty()) text += robustness + "\n";
  for (const std::string& note : run.description.notes) text += fmt::format("note: {}\n", note);
  for (const RunFinding& finding : run_findings(cases)) {
    if (!finding.is_failure) continue;
    text += case_text(run, cases[finding.smallest]);
    if (const std::size_t others = finding.members.size() - 1; others != 0)
      text +=
          fmt::format("  and {} more similar case{} of {}; this one is the smallest{}\n", others, others == 1 ? "" : "s", finding.variant,
                      finding.largest_ratio > 0 ? fmt::format("; largest error/bound {:.4g}", finding.largest_ratio) : std::string());
    for (const std::size_t cause : causes_of(run.findings, cases, finding.members)) text += cause_text(run.findings[cause]);
  }
  for (const harness::RemarkGroup& group : remark_groups(cases)) text += fmt::format("remark: {}\n", harness::text_of(group));
  for (const harness::CaseRecord& record : cases) {
    if (!counts_as_failure(record) && !record.notes.empty())
      text += fmt::format("{} {}\n  note: {}\n", harness::to_string(*record.status), record.name, harness::text_of(record.notes));
  }
  return text + table_text(figure_tables(cases)) + executed_text(run.description) + "\n";
}

}  // namespace assay::reports
