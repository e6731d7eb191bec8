// `assay show`: one case, with everything that is known about it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/options.h"
#include "cli/workspace.h"
#include "harness/run/execute.h"

namespace assay::cli {
namespace {

int show(const Options& options) {
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

}  // namespace

void add_show(CLI::App& app, Action& action) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("show", "Run one case and tell everything about it");
  command->add_option("CASE", options->words, "Case name; may be left out with --fixture");
  add_selection(*command, *options);
  add_execution(*command, *options);
  command->callback([options, &action] { action = [options] { return show(*options); }; });
}

}  // namespace assay::cli
