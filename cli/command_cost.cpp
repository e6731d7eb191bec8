// `assay cost`: counts what one case costs, by kernel and source line, and compares it with the minimum.
#include <fmt/format.h>

#include <atomic>
#include <cstdio>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/device.h"
#include "cli/keeper.h"
#include "cli/options.h"
#include "cli/run_watch.h"
#include "cli/say.h"
#include "cli/workspace.h"
#include "harness/execute/cost.h"
#include "harness/process/runner.h"
#include "reports/cost.h"

namespace assay::cli {
namespace {

struct CostOptions {
  Options common;
  bool json = false;
};

// Whether a kernel with this verdict finished, so that it can run in this process.
bool came_to_its_end(harness::Status status) {
  using enum harness::Status;
  return status == passed || status == known || status == failed || status == hazard;
}

int cost(const CostOptions& options) {
  Workspace workspace = open_workspace(options.common);
  select_one(workspace, options.common, options.common.words, "cost");
  const harness::Case& test_case = workspace.selection.cases.front();
  const harness::Workbench workbench(workspace.catalogue, workspace.selection.cases, workbench_options(options.common, workspace));

  // Figures of a wrong kernel mean little, and an endless one has none. So the case is first judged in a separate process.
  harness::RunOptions run = run_options(options.common);
  run.execution.policy = metal::Policy::checked;
  if (run.execution.schedules.empty()) run.execution.schedules.emplace_back();
  const std::atomic<bool> never = false;
  Keeper keeper;
  const int status = exit_status(harness::run_cases(workspace.selection.cases, workbench, run, never, keeper));
  const harness::Verdict& verdict = keeper.verdict.value();
  if (!came_to_its_end(verdict.status)) {
    say(stderr, "{}", describe_outcome(verdict));
    return status;
  }
  const harness::CaseCost cost = harness::cost_of(workbench.find(test_case.variant), test_case, run.execution);
  if (options.json) {
    say("{}", reports::cost_json(cost, harness::to_string(verdict.status)));
  } else {
    say("{}{}", describe_outcome(verdict), reports::cost_text(cost));
  }
  return status;
}

}  // namespace

void add_cost(CLI::App& app, Action& action) {
  const auto [command, options] = subcommand(app, action, "cost",
                                             "Count what a case costs, by kernel and source line: bytes, threadgroup accesses, SIMD-group "
                                             "calls, barriers, floating-point operations, "
                                             "next to the minimum that any kernel needs. Every run gives the same figures",
                                             cost);
  command->add_option("CASE", options->common.words, "Case name; may be omitted with --fixture");
  command->add_flag("--json", options->json, "Print one JSON document, for CI jobs that compare two iterations of a kernel");
  add_selection(*command, options->common);
  add_execution(*command, options->common);
  command->remove_option(command->get_option("--policy"));  // only `checked` counts
  add_simulator_only(*command, options->common, "only the simulator counts what a kernel costs");
  command->footer(R"(examples
  assay cost tq4_v1/d256/h8x2/kv1024c1024/ring300/win512/nwg16/gauss/s7
  assay cost tq4_v1/d256/h8x2/kv1024c1024/ring300/win512/nwg16/gauss/s7 --json
  assay cost CASE --kernel mine.metal --family FAMILY)");
}

}  // namespace assay::cli
