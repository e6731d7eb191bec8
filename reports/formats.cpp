// The list of the formats of reports.
#include "reports/formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "reports/annotation.h"
#include "reports/github.h"
#include "reports/html.h"
#include "reports/junit.h"
#include "reports/run_json.h"
#include "reports/run_markdown.h"
#include "reports/run_text.h"
#include "reports/sarif.h"
#include "reports/triage.h"

namespace assay::reports {
namespace {

using Run = const harness::RunRecord&;
using Cases = std::span<const harness::CaseRecord>;
using Context = const ReportContext&;

SarifRun sarif_run(Run run, Context context) {
  return {.version = context.version,
          .command = run.description.command,
          .started = run.started,
          .finished = run.finished,
          .is_complete = !run.finished.empty() && !run.stopped};
}

std::string triage_pages(const TriageResult& result) {
  std::string text;
  for (const TriagedVariant& it : result.variants) text += triage_markdown(it.page, it.findings);
  return text;
}

constexpr std::array kFormats = {
    Format{.name = "text",
           .says = "",
           .file = "",
           .shows_other_runs = false,
           .is_commands = false,
           .of_run = [](Run run, Cases cases, Context) { return run_text(run, cases); },
           .of_compilation = [](const Compilation& it, Context) { return compilation_text(it); },
           .of_triage = nullptr},
    Format{.name = "junit",
           .says = "",
           .file = "Write a JUnit report of the whole run",
           .shows_other_runs = false,
           .is_commands = false,
           .of_run = [](Run run, Cases cases, Context context) { return junit(run, cases, context.root); },
           .of_compilation = [](const Compilation& it, Context context) { return compilation_junit(it, context.root); },
           .of_triage = nullptr},
    Format{.name = "html",
           .says = "one page, no network",
           .file = "Write the report as one HTML page that needs no network",
           .shows_other_runs = true,
           .is_commands = false,
           .of_run = [](Run run, Cases cases, Context context) { return html(run, cases, context.others, &context.root); },
           .of_compilation = [](const Compilation& it, Context context) { return compilation_html(it, context.root); },
           .of_triage = nullptr},
    Format{.name = "markdown",
           .says = "for a job summary or a comment",
           .file = "Write the report as Markdown, for a job summary or a comment; at most 60,000 characters",
           .shows_other_runs = false,
           .is_commands = false,
           .of_run = [](Run run, Cases cases, Context context) { return run_markdown(run, cases, &context.root); },
           .of_compilation = [](const Compilation& it, Context context) { return compilation_markdown(it, context.root); },
           .of_triage = [](const TriageResult& it, Context) { return triage_pages(it); }},
    Format{.name = "json",
           .says = "a schema is in docs/",
           .file = "Write the report as JSON (docs/report.schema.json)",
           .shows_other_runs = false,
           .is_commands = false,
           .of_run = [](Run run, Cases cases, Context) { return run_json(run, cases); },
           .of_compilation = [](const Compilation& it, Context) { return compilation_json(it); },
           .of_triage = [](const TriageResult& it, Context) { return triage_json(it.variants, it.notes, it.remarks); }},
    Format{.name = "sarif",
           .says = "SARIF 2.1.0, for code scanning and editors",
           .file = "Write failures with their places in the source as SARIF 2.1.0 (docs/PULL_REQUESTS.md)",
           .shows_other_runs = false,
           .is_commands = false,
           .of_run = [](Run run, Cases cases,
                        Context context) { return sarif(annotations_of(run, cases, context.root), sarif_run(run, context), context.root); },
           .of_compilation =
               [](const Compilation& it, Context context) {
                 return sarif(annotations_of(it, context.root), {.version = context.version, .is_complete = it.is_sound()}, context.root);
               },
           .of_triage =
               [](const TriageResult& it, Context context) {
                 return sarif(annotations_of(it.variants, context.root), {.version = context.version}, context.root);
               }},
    Format{
        .name = "github",
        .says = "commands to the runner of GitHub Actions, which annotate lines",
        .file = "Write failures with their places as commands to the runner of GitHub Actions; a job that prints the file has annotations",
        .shows_other_runs = false,
        .is_commands = true,
        .of_run = [](Run run, Cases cases, Context context) { return github_commands(annotations_of(run, cases, context.root)); },
        .of_compilation = [](const Compilation& it, Context context) { return github_commands(annotations_of(it, context.root)); },
        .of_triage = [](const TriageResult& it, Context context) { return github_commands(annotations_of(it.variants, context.root)); }},
};

}  // namespace

std::span<const Format> formats() { return kFormats; }

const Format& find_format(std::string_view name) {
  const auto* const found = std::ranges::find(kFormats, name, &Format::name);
  if (found == kFormats.end()) throw std::invalid_argument(fmt::format("'{}' is no format of a report", name));
  return *found;
}

}  // namespace assay::reports
