#include "cli/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include "cli/console.h"
#include "cli/interrupt.h"
#include "cli/watch.h"
#include "cli/workspace.h"
#include "harness/cases/suite.h"
#include "harness/run/execute.h"

namespace assay::cli {
namespace {

void print_notes(const Workspace& workspace, const harness::Workbench& workbench) {
  for (const auto& [name, prepared] : workbench.variants()) {
    // Our own variants borrow by design; what is said of a user's kernel is news.
    if (workspace.user_variant.empty() && prepared.variant.known_findings.empty()) continue;
    for (const std::string& note : prepared.notes) fmt::print("note: {}\n", note);
  }
  for (const auto& [name, prepared] : workbench.variants()) {
    for (const auto& [key, reason] : prepared.absent) fmt::print("note: cases of {} are skipped: {}\n", key, reason);
  }
  if (workspace.selection.left_out != 0) {
    fmt::print("note: {} cases lie outside of [limits] and were not selected\n", workspace.selection.left_out);
  }
  // In a pipe they would wait for the first verdict, and be lost if none comes.
  std::fflush(stdout);
}

std::string source_line(const kernels::Variant& variant) {
  return fmt::format("{:<12} {:<8} {}", variant.name, variant.family, variant.about);
}

}  // namespace

int command_run(const Options& options) {
  const InterruptGuard interrupt;
  Workspace workspace = open_workspace(options);
  select(workspace, options, options.command == Options::Command::gate ? std::vector<std::string>{"gate"} : options.words);
  const std::vector<harness::Case>& cases = workspace.selection.cases;
  const harness::RunOptions running = run_options(options);

  const harness::Workbench workbench(workspace.catalogue, cases, workbench_options(options, workspace));
  print_notes(workspace, workbench);

  harness::Summary summary;
  {
    RunWatch watch(options, cases.size(), interrupt);
    summary = harness::run_cases(cases, workbench, running, interrupt.stop(), watch);
  }
  fmt::print("{}", describe_summary(summary, options));

  if (const int status = exit_status(summary); status != kExitPassed) return status;
  if (interrupt.stop()) return kExitInterrupted;
  if (summary.executed() == 0) throw std::invalid_argument("no case was executed: all that were selected are skipped");
  return kExitPassed;
}

int command_list(const Options& options) {
  Workspace workspace = open_workspace(options);
  if (!options.cases.empty()) {
    std::vector<std::string> words = options.words;
    words.insert(words.begin(), options.cases);
    select(workspace, options, words);
    for (const harness::Case& value : workspace.selection.cases) fmt::print("{}\n", harness::format_case(value));
    return kExitPassed;
  }
  fmt::print("variants\n");
  for (const kernels::Variant& variant : workspace.catalogue) {
    if (options.family.empty() || variant.family == options.family) fmt::print("  {}\n", source_line(variant));
  }
  fmt::print("suites (cases per variant)\n");
  for (const std::string_view suite : harness::suite_names()) {
    fmt::print("  {}:", suite);
    for (const kernels::Variant& variant : workspace.catalogue) {
      if (!options.family.empty() && variant.family != options.family) continue;
      fmt::print(" {} {}", variant.name, harness::suite_cases(harness::parse_suite(suite), variant, options.seed).size());
    }
    fmt::print("\n");
  }
  fmt::print("fixtures\n");
  for (const fixtures::Fixture& fixture : fixtures::all_fixtures()) fmt::print("  {:<14} {}\n", fixture.name, fixture.catches);
  return kExitPassed;
}

int command_show(const Options& options) {
  Workspace workspace = open_workspace(options);
  select(workspace, options, options.words);
  const harness::RunOptions running = run_options(options);
  const harness::Workbench workbench(workspace.catalogue, workspace.selection.cases, workbench_options(options, workspace));
  int status = kExitPassed;
  for (const harness::Case& value : workspace.selection.cases) {
    const harness::PreparedVariant& prepared = workbench.find(value.variant);
    const harness::Verdict verdict = harness::execute_case(prepared, value, running.execution);
    fmt::print("{}", describe_everything(verdict, options));
    fmt::print("  source: {}\n", prepared.variant.source.lexically_normal().string());
    for (const std::string& note : prepared.notes) fmt::print("  note: {}\n", note);
    if (verdict.is_internal) {
      status = kExitInternal;
    } else if (!harness::is_success(verdict.status)) {
      status = std::max(status, kExitFailed);
    }
  }
  return status;
}

}  // namespace assay::cli
