// `assay report`: prints a run that a ledger has recorded.
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/report_files.h"
#include "cli/run_reference.h"
#include "cli/say.h"
#include "harness/ledger/ledger.h"
#include "reports/difference.h"
#include "reports/run_text.h"

namespace assay::cli {
namespace {

struct ReportOptions {
  std::string ledger;
  std::string run;  // empty: the newest
  std::string format = "text";
  std::string output;   // empty: stdout
  std::string against;  // empty: no other run
  double drift = reports::kUsualDrift;
  bool list = false;
};

reports::AgainstRun against_run(const ReportOptions& options, const NamedRun& named, const harness::RunRecord& run) {
  const NamedRun other = find_run(options.against, options.ledger);
  say_doubt(other);
  return {{other.run, run, other.ledger->file().string(), named.ledger->file().string(), options.drift}, other.ledger->cases(other.run.id)};
}

int report(const ReportOptions& options) {
  const reports::Format& format = reports::find_format(options.format);
  if (!options.against.empty() && !format.shows_other_runs)
    throw std::invalid_argument("--against needs --format html; `assay diff EARLIER LATER` compares two runs as text, and as JSON");
  const NamedRun named = find_run(options.run.empty() ? "latest" : options.run, options.ledger);
  if (options.list) {
    for (const harness::RunRecord& run : named.ledger->runs()) say("{}", reports::run_headline(run));
    return kExitPassed;
  }
  say_doubt(named);
  const std::vector<harness::CaseRecord> cases = named.ledger->cases(named.run.id);
  // The list of runs has no findings.
  const harness::RunRecord run = named.ledger->run(named.run.id);
  reports::ReportContext context = report_context(format, *named.ledger, run, cases);
  if (!options.against.empty()) context.others.against = against_run(options, named, run);
  const std::string text = format.of_run(run, cases, context);
  if (options.output.empty()) {
    say_report(format, text);
  } else {
    write_report(options.output, format, text);
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
  add_format(*command, options->format, &reports::Format::of_run);
  CLI::Option* const against =
      command
          ->add_option("--against", options->against,
                       "With --format html: compare with this earlier run, in the same form: changed verdicts, errors and bits")
          ->type_name("RUN");
  command->add_option("--drift", options->drift, "With --against: list cases whose largest error/bound changed by more than this")
      ->type_name("X")
      ->check(CLI::NonNegativeNumber)
      ->needs(against)
      ->capture_default_str();
  command->add_option("-o,--output", options->output, "Write to this file instead of standard output")->type_name("FILE");
  command->add_flag("--list", options->list, "List the runs in the ledger");
  command->footer(R"(examples
  assay report                                          the newest run, with figures per fixture and axis value
  assay report --format html -o gate.html               one page for people, no network
  assay report --format markdown >> "$GITHUB_STEP_SUMMARY"
  assay report --format github                          in a job: annotates the lines of failures
  assay report --ledger gate.sqlite --run 12 --format json -o run.json
  assay report --run latest~1                           the run before the newest
  assay report --format html --against latest~1 -o report.html   what changed since the run before
  assay report --list                                   the runs of the ledger)");
}

}  // namespace assay::cli
