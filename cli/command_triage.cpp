// `assay triage`: groups failing cases by cause, and finds the smallest case, the mistake and the line of each group.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/causes.h"
#include "cli/commands.h"
#include "cli/failure_keeper.h"
#include "cli/files.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/recording.h"
#include "cli/report_files.h"
#include "cli/run_reference.h"
#include "cli/run_watch.h"
#include "cli/say.h"
#include "cli/workspace.h"
#include "harness/findings/remarks.h"
#include "harness/ledger/ledger.h"
#include "harness/process/runner.h"
#include "harness/triage/triage.h"
#include "reports/triage.h"
#include "reports/triage_json.h"

namespace assay::cli {
namespace {

constexpr double kLongestSearch = 86400;  // seconds

struct TriageCommand {
  Options options;
  std::string ledger;
  std::string run;  // in the syntax of cli/run_reference.h
  std::vector<std::string> against;
  std::string output;
  bool json = false;
  std::string format = "markdown";
  bool is_fast = false;
  std::size_t most_findings = harness::TriageOptions{}.most_findings;
  double minimise_seconds = harness::TriageOptions{}.minimise_budget.count();
  double repair_seconds = harness::TriageOptions{}.repair_budget.count();
};

class Remarks final : public harness::RunListener {
 public:
  void started(const harness::Case&) override {}
  void finished(const harness::Verdict& verdict, const harness::Summary&) override {
    groups.add(verdict.test_case.variant, harness::format_case(verdict.test_case), verdict.remarks);
  }
  [[nodiscard]] std::vector<std::string> sentences() const {
    std::vector<std::string> sentences;
    for (const harness::RemarkGroup& group : groups.all()) sentences.push_back(harness::text_of(group));
    return sentences;
  }

  harness::RemarkGroups groups;
};

harness::RunDescription take_run(TriageCommand& command) {
  const NamedRun named = find_run(command.run.empty() ? "latest" : command.run, command.ledger);
  say_doubt(named);
  for (const harness::CaseRecord& record : named.ledger->cases(named.run.id)) {
    if (record.status && !harness::is_success(*record.status)) command.options.words.push_back(record.name);
  }
  if (command.options.words.empty())
    throw std::invalid_argument(fmt::format("run {} of {} has no failing case", named.run.id, named.ledger->file().string()));
  take_replay_options(command.options, named.run.description.replay_options);
  return named.run.description;
}

// Notes that the kernel has changed since the run, because then the findings may not apply to that run.
void note_changes(Workspace& workspace, const harness::RunDescription& recorded, const harness::Environment& now) {
  for (const harness::SourceRecord& source : now.sources) {
    const auto before = std::ranges::find(recorded.environment.sources, source.variant, &harness::SourceRecord::variant);
    if (before != recorded.environment.sources.end() && before->digest != source.digest)
      workspace.notes.push_back(fmt::format("{} has changed since the recorded run ({})", source.variant, source.file));
  }
}

// Races and harmless stray accesses do not change the output. So the cheaper cases run once more under policy `checked`, which the
// following steps then use too.
void look_closer(Workspace& workspace, Options& options, harness::RunOptions& running, const harness::WorkbenchOptions& bench,
                 FailureKeeper& failures) {
  constexpr std::size_t most = 150;
  std::vector<harness::Case> cases = workspace.selection.cases;
  std::ranges::sort(cases, {}, [](const harness::Case& test_case) { return test_case.family->work(test_case.values); });
  cases.resize(std::min(cases.size(), most));
  harness::RunOptions watching = running;
  watching.execution.policy = metal::Policy::checked;
  const std::atomic<bool> never = false;
  const harness::Workbench workbench(workspace.catalogue, cases, bench);
  failures.outcomes.passed.clear();
  static_cast<void>(harness::run_cases(cases, workbench, watching, never, failures));
  if (failures.outcomes.failures.empty()) return;
  running = watching;
  options.policy = "checked";
  workspace.selection.cases = std::move(cases);
  workspace.notes.emplace_back("no output element is wrong; the following findings come from policy checked");
}

// Says or writes what was found: pages of Markdown one after the other as they are done, or one document at the end.
class TriageOutput {
 public:
  TriageOutput(const TriageCommand& command, const Workspace& workspace)
      : command_(command), workspace_(workspace), format_(reports::find_format(command.json ? "json" : command.format)) {}

  void add(reports::TriagedVariant found) {
    if (is_document()) {
      variants_.push_back(std::move(found));
      return;
    }
    const std::string page = reports::triage_markdown(found.page, found.findings);
    say("{}", page);
    std::fflush(stdout);
    text_ += page;
  }
  void nothing_failed(const std::vector<std::string>& remarks) {
    if (is_document()) {
      finish(remarks);
      return;
    }
    say("{} case{} ran and none failed, so there is nothing to triage\n", workspace_.selection.cases.size(),
        workspace_.selection.cases.size() == 1 ? "" : "s");
    for (const std::string& remark : remarks) say("remark: {}\n", remark);
  }
  void finish(const std::vector<std::string>& remarks) {
    if (is_document()) {
      const std::string file = variants_.empty() ? command_.options.kernel : variants_.front().page.source_file;
      text_ = format_.of_triage({variants_, workspace_.notes, remarks}, report_context(file));
      say_report(format_, text_);
    }
    if (!command_.output.empty()) write_report(command_.output, format_, text_);
  }

 private:
  [[nodiscard]] bool is_document() const { return format_.name != "markdown"; }

  const TriageCommand& command_;
  const Workspace& workspace_;
  const reports::Format& format_;
  std::vector<reports::TriagedVariant> variants_;
  std::string text_;
};

int triage(const TriageCommand& asked) {
  TriageCommand command = asked;
  require_writable(command.output);
  if (command.is_fast && !command.against.empty())
    throw std::invalid_argument("--fast edits no kernel, so it finds no difference from --against: leave one of them out");
  std::optional<harness::RunDescription> recorded;
  if (!command.ledger.empty() || !command.run.empty()) {
    if (!command.options.words.empty()) throw std::invalid_argument("pass either cases or a recorded run (--ledger, --run), not both");
    recorded = take_run(command);
  }
  command.options = with_strict_policy(command.options);
  Options& options = command.options;
  Workspace workspace = open_workspace(options);
  workspace.texts = KernelTexts(workspace.catalogue);
  select(workspace, options, options.words);
  if (recorded) workspace.notes.emplace_back("the cases that did not pass in the recorded run were run again");
  harness::RunOptions running = run_options(options);
  const harness::WorkbenchOptions bench = workbench_options(options, workspace);

  Remarks remarks;
  FailureKeeper failures(&remarks);
  const InterruptGuard interrupt;
  {
    const harness::Workbench workbench(workspace.catalogue, workspace.selection.cases, bench);
    if (recorded) note_changes(workspace, *recorded, environment_of(options, workbench));
    static_cast<void>(harness::run_cases(workspace.selection.cases, workbench, running, interrupt.stop(), failures));
  }
  if (interrupt.stop()) workspace.notes.emplace_back("interrupted: some cases were not run");
  if (failures.outcomes.failures.empty() && interrupt.stop()) return kExitInterrupted;
  if (failures.outcomes.failures.empty() && running.execution.policy == metal::Policy::native)
    look_closer(workspace, options, running, bench, failures);
  TriageOutput output(command, workspace);
  if (failures.outcomes.failures.empty()) {
    output.nothing_failed(remarks.sentences());
    return kExitPassed;
  }
  harness::TriageOptions limits;
  limits.most_findings = command.most_findings;
  limits.minimise_budget = std::chrono::duration<double>(command.minimise_seconds);
  limits.is_fast = command.is_fast;
  limits.repair_budget = std::chrono::duration<double>(command.repair_seconds);
  find_causes(
      {.options = options, .workspace = workspace, .bench = bench, .running = running, .against = command.against, .limits = limits},
      failures.outcomes, interrupt, [&](reports::TriagedVariant found) { output.add(std::move(found)); });
  output.finish(remarks.sentences());
  return interrupt.stop() ? kExitInterrupted : kExitFailed;
}

}  // namespace

void add_triage(CLI::App& app, Action& action) {
  const auto [app_command, command] = subcommand(app, action, "triage",
                                                 "Group failing cases by cause. For each group, print the smallest case, where the error "
                                                 "occurs, the known mistake that explains it, and "
                                                 "the source line, as Markdown for an issue or as JSON",
                                                 triage);
  app_command->add_option("CASE", command->options.words, "Cases, globs, suites; default with --kernel: the gate");
  app_command->add_option("--ledger", command->ledger, "Ledger of a recorded run whose failing cases are triaged; default: your own")
      ->type_name("FILE");
  app_command->add_option("--run", command->run, std::string("Run to triage: ") + kRunReferenceHelp + "; default: latest")
      ->type_name("RUN");
  app_command
      ->add_option("--against", command->against,
                   "Correct source to compare with, such as the version before a change; our own are also tried")
      ->type_name("FILE|DIR");
  app_command->add_option("--most-findings", command->most_findings, "Maximum number of findings to print; default: 4")
      ->type_name("N")
      ->check(CLI::Range(1U, 100U));
  app_command
      ->add_option("--minimise-seconds", command->minimise_seconds,
                   "Time limit of the search for the smallest case of a finding; default: 4")
      ->type_name("S")
      ->check(CLI::Range(0.0, kLongestSearch));
  app_command
      ->add_option("--repair-seconds", command->repair_seconds,
                   "Time limit of the search for a small edit that repairs a kernel without a correct source to compare with; default: 90, "
                   "0: no search")
      ->type_name("S")
      ->check(CLI::Range(0.0, kLongestSearch));
  app_command->add_flag(
      "--fast", command->is_fast,
      "Only what needs no edited kernel: cases, places, hazards, tables of constants, classes, lines of hazards and tables");
  add_format(*app_command, command->format, &reports::Format::of_triage);
  app_command->add_flag("--json", command->json, "The same as --format json: one document (docs/triage.schema.json)");
  app_command->add_option("-o,--output", command->output, "Also write the page to a file")->type_name("FILE");
  add_selection(*app_command, command->options);
  add_execution(*app_command, command->options);
  add_profile(*app_command, command->options);
  app_command->footer(R"(examples
  assay triage tq4_v1/d256/h8x2/kv1024c1024/ring300/win512/nwg16/gauss/s7
  assay triage smoke --kernel mine.metal --family FAMILY
  assay triage --kernel mine.metal --family FAMILY --against mine_before.metal
  assay triage --ledger gate.sqlite --run 3 -o finding.md
  assay triage smoke --kernel mine.metal --family FAMILY --json)");
}

}  // namespace assay::cli
