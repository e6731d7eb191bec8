// `assay explain`: explains the error of one case.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/device.h"
#include "cli/keeper.h"
#include "cli/options.h"
#include "cli/run_watch.h"
#include "cli/say.h"
#include "cli/workspace.h"
#include "harness/execute/explain.h"
#include "harness/findings/fault_text.h"
#include "harness/process/runner.h"
#include "reports/explanation.h"

namespace assay::cli {
namespace {

struct ExplainCommand {
  Options options;
  std::optional<double> large;  // --large
  std::size_t lines = harness::ExplainOptions{}.most_lines;
  bool json = false;
};

bool is_compared(const harness::Verdict& verdict) {
  return verdict.status == harness::Status::passed || verdict.status == harness::Status::failed ||
         harness::is_expected_failure(verdict.status) || (verdict.status == harness::Status::mistrusted && !verdict.is_internal);
}

int explain(const ExplainCommand& command) {
  Options options = command.options;
  Workspace workspace = open_workspace(options);
  select_one(workspace, options, options.words, "explain");
  const harness::Workbench workbench(workspace.catalogue, workspace.selection.cases, workbench_options(options, workspace));
  const harness::Case& test_case = workspace.selection.cases.front();
  const harness::PreparedVariant& prepared = workbench.find(test_case.variant);

  // Runs the case in a separate process with a time limit first, because the explanation runs in this process.
  options.policy = Options{}.policy;
  Keeper natively;
  const std::atomic<bool> never = false;
  const harness::Summary summary = harness::run_cases(workspace.selection.cases, workbench, run_options(options), never, natively);
  if (!natively.verdict || !is_compared(*natively.verdict)) {
    if (natively.verdict) say("{}there is no output to explain\n", describe_verdict(*natively.verdict, options));
    const int status = exit_status(summary);
    return status == kExitPassed ? kExitNothingPassed : status;
  }

  harness::ExplainOptions asked;
  const double allowed = natively.verdict->judgement.median_bound_ratio;
  if (command.large || allowed > 0.0) asked.large_error = command.large.value_or(allowed);
  asked.most_lines = command.lines;
  const harness::Explanation explanation = harness::explain_case(prepared, test_case, run_options(options).execution, asked);
  options.policy = "shadow";
  const harness::Verdict& verdict = explanation.verdict;
  if (command.json) {
    say("{}\n", reports::explanation_json(explanation));
  } else {
    say("{}", describe_head(verdict));
    if (verdict.status != natively.verdict->status)
      say("  under policy native, schedule {}: {}{}{}\n", natively.verdict->schedules, harness::to_string(natively.verdict->status),
          natively.verdict->faults.empty() ? "" : ": ", harness::reason_of(*natively.verdict));
    if (!prepared.weaker_storage.empty()) say("  declared accuracy: {}\n", prepared.weaker_storage);
    say("\n{}", reports::explanation_text(explanation));
    say("\nreplay: {}\nexecuted on the simulator, policy shadow, schedule {}\n", replay_line(options, harness::format_case(test_case)),
        verdict.schedules);
  }
  if (verdict.digest != natively.verdict->digest)
    throw std::logic_error(fmt::format("the output under policy shadow (digest {:016x}) differs from that under native ({:016x})",
                                       verdict.digest, natively.verdict->digest));
  if (verdict.is_internal) return kExitInternal;
  return harness::is_success(verdict.status) && harness::is_success(natively.verdict->status) ? kExitPassed : kExitFailed;
}

}  // namespace

void add_explain(CLI::App& app, Action& action) {
  const auto [app_command, command] =
      subcommand(app, action, "explain",
                 "Run one case under policy shadow and explain its error: how much is rounding and how much is logic, "
                 "which source lines round, and where the first large error occurs",
                 explain);
  app_command->add_option("CASE", command->options.words, "Case name; may be omitted with --fixture");
  add_selection(*app_command, command->options);
  add_execution(*app_command, command->options);
  add_simulator_only(*app_command, command->options, "only the simulator carries exact values beside those of a kernel");
  add_profile(*app_command, command->options);
  app_command
      ->add_option("--large", command->large, "Relative error that counts as large; default: the median that the bounds of the case allow")
      ->type_name("X")
      ->check(CLI::PositiveNumber);
  app_command->add_option("--lines", command->lines, "Number of source lines to try, each in its own run; default: 12")
      ->type_name("N")
      ->check(CLI::Range(0U, 1000U));
  app_command->add_flag("--json", command->json, "Print one JSON document instead of text");
  app_command->footer(R"(examples
  assay explain tq4_v1/d256/h8x2/kv1024c1024/ring300/win512/nwg16/gauss/s7
  assay explain tq4_v1/d256/h8x2/kv1024c1024/ring300/win512/nwg16/gauss/s7 --large 1e-5 --lines 40
  assay explain CASE --kernel mine.metal --family FAMILY --json)");
}

}  // namespace assay::cli
