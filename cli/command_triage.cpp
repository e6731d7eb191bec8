// `assay triage`: what failing cases have in common, the smallest of them, and what is wrong.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/files.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/recording.h"
#include "cli/run_reference.h"
#include "cli/watch.h"
#include "cli/workspace.h"
#include "families/registry.h"
#include "harness/ledger/ledger.h"
#include "harness/run/fault_text.h"
#include "harness/run/runner.h"
#include "harness/triage/triage.h"
#include "reports/triage.h"

namespace assay::cli {
namespace {

struct TriageCommand {
  Options options;
  std::string ledger;
  std::string run;  // as cli/run_reference.h names it
  std::vector<std::string> against;
  std::string output;
  std::size_t most_findings = harness::TriageOptions{}.most_findings;
  double minimise_seconds = harness::TriageOptions{}.minimise_budget.count();
  double repair_seconds = harness::TriageOptions{}.repair_budget.count();
};

class Failures final : public harness::RunListener {
 public:
  void started(const harness::Case&) override {}
  void finished(const harness::Verdict& verdict, const harness::Summary&) override {
    if (!harness::is_success(verdict.status)) verdicts.push_back(verdict);
    for (const metal::Hazard& remark : verdict.remarks) remarks.insert(harness::hazard_text(remark));
  }

  std::vector<harness::Verdict> verdicts;
  std::set<std::string> remarks;  // of the policy `checked`: what is no defect
};

// What a recorded run was told besides its cases, where the command line does not say otherwise.
void take_replay_options(Options& options, const std::vector<std::string>& words) {
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
    const std::string& value = words[i + 1];
    const auto take_number = [&](std::string_view name, auto member) {
      if (words[i] != name || options.*member != Options{}.*member) return;
      std::from_chars(value.data(), value.data() + value.size(), options.*member);
    };
    if (words[i] == "--kernel" && options.kernel.empty()) options.kernel = value;
    if (words[i] == "--family" && options.family.empty()) options.family = value;
    if (words[i] == "--variants" && options.variants.empty()) options.variants = value;
    if (words[i] == "--limit") options.limits.push_back(value);
    if (words[i] == "--constant") options.constants.push_back(value);
    if (words[i] == "--include") options.includes.push_back(value);
    if (words[i] == "--define") options.defines.push_back(value);
    if (words[i] == "--metal-version" && options.metal_version.empty()) options.metal_version = value;
    if (words[i] == "--set") options.fields.push_back(value);
    if (words[i] == "--fixture") options.fixtures.push_back(value);
    if (words[i] == "--policy" && options.policy == Options{}.policy) options.policy = value;
    if (words[i] == "--fp-contract" && options.fp_contract == Options{}.fp_contract) options.fp_contract = value;
    take_number("--timeout", &Options::timeout);
    take_number("--memory", &Options::memory);
    take_number("--threads", &Options::threads);
  }
}

harness::RunDescription take_run(TriageCommand& command) {
  const NamedRun named = find_run(command.run.empty() ? "latest" : command.run, command.ledger);
  for (const harness::CaseRecord& record : named.ledger->cases(named.run.id)) {
    if (record.status && !harness::is_success(*record.status)) command.options.words.push_back(record.name);
  }
  if (command.options.words.empty())
    throw std::invalid_argument(fmt::format("run {} of {} holds no failing case", named.run.id, named.ledger->file().string()));
  take_replay_options(command.options, named.run.description.replay_options);
  return named.run.description;
}

// What is found in a kernel that was changed after its run says nothing of that run.
void note_changes(Workspace& workspace, const harness::RunDescription& recorded, const harness::Environment& now) {
  for (const harness::SourceRecord& source : now.sources) {
    const auto before = std::ranges::find(recorded.environment.sources, source.variant, &harness::SourceRecord::variant);
    if (before != recorded.environment.sources.end() && before->digest != source.digest)
      workspace.notes.push_back(fmt::format("{} is not the kernel of the recorded run: {} has changed since", source.variant, source.file));
  }
}

// Right sources to hold a kernel of the family against: ours, and those named with --against.
std::vector<std::filesystem::path> relatives_of(const TriageCommand& command, const std::string& family) {
  std::vector<std::filesystem::path> files;
  for (const std::string& file : command.against) {
    if (!std::filesystem::is_regular_file(file)) throw std::invalid_argument(fmt::format("--against {}: there is no such file", file));
    files.emplace_back(file);
  }
  for (const kernels::Variant& variant : kernels::find_variants(kernels::default_variants_directory(), families::contracts())) {
    if (variant.family == family) files.push_back(variant.source);
  }
  return files;
}

// Races, and accesses that do no harm here, show in no number: the cheaper cases once more under the policy that watches memory, which
// all that follows then uses as well.
void look_closer(Workspace& workspace, Options& options, harness::RunOptions& running, const harness::WorkbenchOptions& bench,
                 Failures& failures) {
  constexpr std::size_t most = 150;
  std::vector<harness::Case> cases = workspace.selection.cases;
  std::ranges::sort(cases, {}, [](const harness::Case& about) { return about.family->work(about.values); });
  cases.resize(std::min(cases.size(), most));
  harness::RunOptions watching = running;
  watching.execution.policy = metal::Policy::checked;
  const std::atomic<bool> never = false;
  const harness::Workbench workbench(workspace.catalogue, cases, bench);
  static_cast<void>(harness::run_cases(cases, workbench, watching, never, failures));
  if (failures.verdicts.empty()) return;
  running = watching;
  options.policy = "checked";
  workspace.selection.cases = std::move(cases);
  workspace.notes.emplace_back("no number is wrong: what follows is what the policy checked sees");
}

int triage(TriageCommand command) {
  require_writable(command.output);
  std::optional<harness::RunDescription> recorded;
  if (!command.ledger.empty() || !command.run.empty()) {
    if (!command.options.words.empty())
      throw std::invalid_argument("cases come from the words or from a recorded run (--ledger, --run), not from both");
    recorded = take_run(command);
  }
  Options& options = command.options;
  Workspace workspace = open_workspace(options);
  select(workspace, options, options.words);
  if (!command.ledger.empty() || !command.run.empty())
    workspace.notes.emplace_back("these are the cases that did not pass in the recorded run; they were run again");
  harness::RunOptions running = run_options(options);
  const harness::WorkbenchOptions bench = workbench_options(options, workspace);

  Failures failures;
  const InterruptGuard interrupt;
  {
    const harness::Workbench workbench(workspace.catalogue, workspace.selection.cases, bench);
    if (recorded) note_changes(workspace, *recorded, environment_of(options, workbench));
    static_cast<void>(harness::run_cases(workspace.selection.cases, workbench, running, interrupt.stop(), failures));
  }
  if (interrupt.stop()) workspace.notes.emplace_back("interrupted: not every case was run");
  if (failures.verdicts.empty() && interrupt.stop()) return kExitInterrupted;
  if (failures.verdicts.empty() && running.execution.policy == metal::Policy::native)
    look_closer(workspace, options, running, bench, failures);
  if (failures.verdicts.empty()) {
    fmt::print("{} case{} ran and none failed: there is nothing to triage\n", workspace.selection.cases.size(),
               workspace.selection.cases.size() == 1 ? "" : "s");
    for (const std::string& remark : failures.remarks) fmt::print("remark: {}\n", remark);
    return kExitPassed;
  }
  std::vector<std::string> variants;
  for (const harness::Verdict& verdict : failures.verdicts) {
    if (std::ranges::find(variants, verdict.about.variant) == variants.end()) variants.push_back(verdict.about.variant);
  }
  std::string text;
  for (const std::string& variant : variants) {
    if (interrupt.stop() && !text.empty()) break;
    std::vector<harness::Verdict> of_variant;
    std::ranges::copy_if(failures.verdicts, std::back_inserter(of_variant),
                         [&](const harness::Verdict& verdict) { return verdict.about.variant == variant; });
    harness::Laboratory laboratory({.catalogue = workspace.catalogue, .variant = variant, .workbench = bench, .run = running});
    harness::TriageOptions asked;
    asked.relatives = relatives_of(command, laboratory.variant().family);
    asked.most_findings = command.most_findings;
    asked.minimise_budget = std::chrono::duration<double>(command.minimise_seconds);
    asked.repair_budget = std::chrono::duration<double>(command.repair_seconds);
    const std::vector<harness::Finding> findings = harness::triage(laboratory, of_variant, asked);
    reports::TriagePage page;
    page.subject = fmt::format("{} ({})", variant, laboratory.variant().source.string());
    page.failing = of_variant.size();
    page.selected = static_cast<std::size_t>(std::ranges::count(workspace.selection.cases, variant, &harness::Case::variant));
    page.replay = [&](const std::string& name) { return replay_line(options, name, options.schedule); };
    page.notes = workspace.notes;
    const std::string of_this = reports::triage_markdown(page, findings);
    fmt::print("{}", of_this);
    std::fflush(stdout);
    text += of_this;
  }
  if (!command.output.empty()) write_file(command.output, text);
  return interrupt.stop() ? kExitInterrupted : kExitFailed;
}

}  // namespace

void add_triage(CLI::App& app, Action& action) {
  const auto command = std::make_shared<TriageCommand>();
  CLI::App* app_command = app.add_subcommand("triage",
                                             "Group failing cases by what causes them; of each group find the smallest case, where it "
                                             "shows, which known mistake it looks like and "
                                             "the source line, as Markdown for an issue");
  app_command->add_option("CASE", command->options.words, "Cases, globs, suites; default with --kernel: the gate");
  app_command->add_option("--ledger", command->ledger, "Triage the failing cases of a run recorded there; default: the user's own")
      ->type_name("FILE");
  app_command->add_option("--run", command->run, std::string("That run: ") + kRunReferenceHelp + "; default: latest")->type_name("RUN");
  app_command
      ->add_option("--against", command->against, "A source that is right, such as the one before the change; ours are tried as well")
      ->type_name("FILE");
  app_command->add_option("--most-findings", command->most_findings, "Findings told at most; default: 4")
      ->type_name("N")
      ->check(CLI::Range(1U, 100U));
  app_command->add_option("--minimise-seconds", command->minimise_seconds, "Time to look for the smallest case of a finding; default: 12")
      ->type_name("S")
      ->check(CLI::NonNegativeNumber);
  app_command
      ->add_option("--repair-seconds", command->repair_seconds,
                   "Time to look for a small edit that repairs a kernel which differs from no right source; default: 90, 0: do not look")
      ->type_name("S")
      ->check(CLI::NonNegativeNumber);
  app_command->add_option("-o,--output", command->output, "Write the page to a file as well")->type_name("FILE");
  add_selection(*app_command, command->options);
  add_execution(*app_command, command->options);
  app_command->footer(R"(examples
  assay triage tq4_v1/d256/h8x2/kv1024c1024/ring300/win512/nwg16/gauss/s7
  assay triage smoke --kernel mine.metal --family FAMILY
  assay triage --kernel mine.metal --family FAMILY --against mine_before.metal
  assay triage --ledger gate.sqlite --run 3 -o finding.md)");
  app_command->callback([command, &action] { action = [command] { return triage(*command); }; });
}

}  // namespace assay::cli
