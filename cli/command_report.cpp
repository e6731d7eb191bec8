// `assay report`: prints a run that a ledger has recorded.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/files.h"
#include "cli/options.h"
#include "cli/recording.h"
#include "cli/run_reference.h"
#include "cli/say.h"
#include "harness/findings/fault_text.h"
#include "harness/ledger/ledger.h"
#include "reports/executed_on.h"
#include "reports/figures.h"
#include "reports/html.h"
#include "reports/junit.h"
#include "reports/replay.h"
#include "reports/run_findings.h"
#include "reports/run_json.h"
#include "reports/run_markdown.h"
#include "reports/triage_record.h"

namespace assay::cli {
namespace {

struct ReportOptions {
  std::string ledger;
  std::string run;  // empty: the newest
  std::string format = "text";
  std::string output;  // empty: stdout
  bool list = false;
};

std::string headline(const harness::RunRecord& run) {
  const std::string end = run.finished.empty() ? "did not finish" : run.stopped ? "stopped " + run.finished : "ended " + run.finished;
  const std::size_t outside = run.description.outside_limits;
  return fmt::format("run {}: {} of {} cases with a verdict, {} not passed{}; started {}, {}; {}\n", run.id, run.verdicts,
                     run.description.selected, run.failures, outside == 0 ? "" : fmt::format(", {} outside of [limits]", outside),
                     run.started, end, run.description.command);
}

std::string case_text(const harness::RunRecord& run, const harness::CaseRecord& record) {
  return fmt::format("{} {}\n  {}\n{}  replay: {}\n", reports::status_name(record), record.name,
                     record.status ? harness::reason_of(record) : "the run was stopped before there was a verdict",
                     record.notes.empty() ? "" : fmt::format("  note: {}\n", harness::text_of(record.notes)),
                     reports::replay_line(run, record));
}

// Lines of other files are indented, so that they cannot look like ours.
std::string cause_text(const harness::FindingRecord& cause) {
  std::string text = fmt::format("  cause: {}\n    smallest case: {}\n", reports::headline_of(cause), cause.replay);
  const std::string excerpt = cause.suspects.empty() ? std::string() : cause.suspects.front().excerpt;
  for (const std::string* lines : {&excerpt, &cause.diff}) {
    for (const std::string_view line : base::lines_of(*lines)) text += fmt::format("    {}\n", line);
  }
  return text;
}

// The smallest of each group of similar failures, and the size of the group.
std::string text_of(const harness::RunRecord& run, std::span<const harness::CaseRecord> cases) {
  std::string text = headline(run) + reports::element_text(reports::count_elements(cases)) + '\n';
  text += robustness_line(run, cases);
  for (const std::string& note : run.description.notes) text += fmt::format("note: {}\n", note);
  for (const reports::RunFinding& finding : reports::run_findings(cases)) {
    if (!finding.is_failure) continue;
    text += case_text(run, cases[finding.smallest]);
    if (const std::size_t others = finding.members.size() - 1; others != 0)
      text +=
          fmt::format("  and {} more similar case{} of {}; this one is the smallest{}\n", others, others == 1 ? "" : "s", finding.variant,
                      finding.largest_ratio > 0 ? fmt::format("; largest error/bound {:.4g}", finding.largest_ratio) : std::string());
    for (const std::size_t cause : reports::causes_of(run.findings, cases, finding.members)) text += cause_text(run.findings[cause]);
  }
  for (const harness::RemarkGroup& group : reports::remark_groups(cases)) text += fmt::format("remark: {}\n", harness::text_of(group));
  for (const harness::CaseRecord& record : cases) {
    if (!reports::counts_as_failure(record) && !record.notes.empty())
      text += fmt::format("{} {}\n  note: {}\n", harness::to_string(*record.status), record.name, harness::text_of(record.notes));
  }
  return text + reports::table_text(reports::figure_tables(cases)) + reports::executed_text(run.description) + "\n";
}

using Renderer = std::string (*)(const harness::RunRecord& run, std::span<const harness::CaseRecord> cases);

const std::map<std::string, Renderer>& renderers() {
  static const std::map<std::string, Renderer> renderers = {{"text", text_of},
                                                            {"junit", reports::junit},
                                                            {"html", reports::html},
                                                            {"json", reports::run_json},
                                                            {"markdown", reports::run_markdown}};
  return renderers;
}

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const auto& [name, renderer] : renderers()) names.push_back(name);
  return names;
}

int report(const ReportOptions& options) {
  const NamedRun named = find_run(options.run.empty() ? "latest" : options.run, options.ledger);
  if (options.list) {
    for (const harness::RunRecord& run : named.ledger->runs()) say("{}", headline(run));
    return kExitPassed;
  }
  say_doubt(named);
  const std::vector<harness::CaseRecord> cases = named.ledger->cases(named.run.id);
  // The list of runs has no findings.
  const std::string text = renderers().at(options.format)(named.ledger->run(named.run.id), cases);
  if (options.output.empty()) {
    say("{}", text);
  } else {
    write_file(options.output, text);
  }
  return kExitPassed;
}

}  // namespace

void add_report(CLI::App& app, Action& action) {
  const auto [command, options] = subcommand(
      app, action, "report",
      "Print a recorded run: cases that did not pass, and the largest error/bound and median bound/magnitude per fixture and axis value",
      report);
  command->add_option("--ledger", options->ledger, "Ledger to read; default: your own")->type_name("FILE");
  command->add_option("--run", options->run, std::string("Run to print: ") + kRunReferenceHelp + "; default: the newest")->type_name("RUN");
  command
      ->add_option("--format", options->format,
                   "text, junit, html (one page, no network), markdown (for a pull request) or json (docs/report.schema.json)")
      ->check(one_of(format_names()));
  command->add_option("-o,--output", options->output, "Write to this file instead of standard output")->type_name("FILE");
  command->add_flag("--list", options->list, "List the runs in the ledger");
  command->footer(R"(examples
  assay report                                          the newest run, with figures per fixture and axis value
  assay report --format html -o gate.html               one page for people, no network
  assay report --format markdown >> "$GITHUB_STEP_SUMMARY"
  assay report --ledger gate.sqlite --run 12 --format json -o run.json
  assay report --run latest~1                           the run before the newest
  assay report --list                                   the runs of the ledger)");
}

}  // namespace assay::cli
