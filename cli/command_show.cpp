// `assay show`: runs one case and prints everything about it.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/device.h"
#include "cli/options.h"
#include "cli/run_watch.h"
#include "cli/say.h"
#include "cli/terminal.h"
#include "cli/workspace.h"
#include "harness/process/runner.h"
#include "reports/error_plot.h"

namespace assay::cli {
namespace {

// More are too many to send to this process; the plot of a larger output is of its worst ones.
constexpr std::size_t kPlottedElements = 1U << 16U;

struct ShowOptions : Options {
  bool plot = false;
};

// Prints each verdict when it arrives.
class VerdictPrinter final : public harness::RunListener {
 public:
  // `is_plotted`: the verdict has up to kPlottedElements instead of the usual number of worst elements.
  VerdictPrinter(const Options& options, const harness::Workbench& workbench, bool is_plotted)
      : options_(options), workbench_(workbench), is_plotted_(is_plotted) {}

  void started(const harness::Case&) override {}
  void finished(const harness::Verdict& arrived, const harness::Summary&) override {
    harness::Verdict verdict = arrived;
    std::vector<harness::WorstElement>& worst = verdict.judgement.worst;
    std::string plot;
    if (is_plotted_) {
      const harness::Judgement& judgement = verdict.judgement;
      plot = reports::error_plot(worst, judgement.compared + judgement.not_written + judgement.nans + judgement.infs, verdict.row_length,
                                 has_utf8() ? reports::PlotCharacters::blocks : reports::PlotCharacters::plain);
      worst.resize(std::min(worst.size(), harness::JudgeOptions{}.worst_count));
    }
    const harness::PreparedVariant& prepared = workbench_.find(verdict.test_case.variant);
    say_verdict(verdict.status, describe_everything(verdict, options_));
    say("{}", plot);
    say("  source: {}\n", prepared.variant.source.lexically_normal().string());
    if (!prepared.weaker_storage.empty()) say("  declared accuracy: {}\n", prepared.weaker_storage);
    for (const std::string& note : prepared.notes) say("  note: {}\n", note);
    std::fflush(stdout);
  }

 private:
  const Options& options_;
  const harness::Workbench& workbench_;
  bool is_plotted_;
};

int show(const ShowOptions& asked) {
  const Options options = with_strict_policy(asked);
  Workspace workspace = open_workspace(options);
  select_one(workspace, options, options.words, "show");
  const ChosenDevice chosen = choose_device(options);
  harness::WorkbenchOptions preparing = workbench_options(options, workspace);
  harness::RunOptions running = run_options(options);
  const bool is_plotted = asked.plot || is_terminal(stdout);
  if (is_plotted) running.execution.worst_elements = kPlottedElements;
  std::vector<std::string> notes;
  use_device(chosen, preparing, running, 1, notes);
  const harness::Workbench workbench(workspace.catalogue, workspace.selection.cases, preparing);
  VerdictPrinter teller(options, workbench, is_plotted);
  const std::atomic<bool> never = false;
  for (const std::string& note : notes) say("note: {}\n", note);
  return exit_status(harness::run_cases(workspace.selection.cases, workbench, running, never, teller));
}

}  // namespace

void add_show(CLI::App& app, Action& action) {
  const auto [command, options] = subcommand(app, action, "show", "Run one case and print everything about it", show);
  command->add_option("CASE", options->words, "Case name; may be omitted with --fixture");
  command->add_flag("--plot", options->plot,
                    "Also draw the largest error/bound at each coordinate of the output; on a terminal, this is the default");
  add_selection(*command, *options);
  add_execution(*command, *options);
  add_device(*command, *options);
  add_profile(*command, *options);
  command->footer(R"(examples
  assay show tq4_v1/d256/h8x2/kv1024c1024/ring300/win512/nwg16/gauss/s7
  assay show tq4_v1/d256/h8x2/kv1024c1024/ring300/win512/nwg16/gauss/s7 --policy checked
  assay show CASE --kernel mine.metal --family FAMILY --plot   which coordinates are wrong
  assay show CASE --kernel mine.metal --family FAMILY

exit status
  0 passed   1 failed   2 bad usage, environment or kernel file   4 skipped: the kernel has no function for it)");
}

}  // namespace assay::cli
