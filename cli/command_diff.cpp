// `assay diff`: what changed between two recorded runs.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <limits>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/run_reference.h"
#include "harness/ledger/difference.h"
#include "reports/difference.h"

namespace assay::cli {
namespace {

struct DiffOptions {
  std::string earlier = "latest~1", later = "latest";
  std::string ledger;
  double drift = 0.05;
  bool all = false, json = false;
};

constexpr std::size_t kLongestList = 20;

int diff(const DiffOptions& options) {
  const NamedRun earlier = find_run(options.earlier, options.ledger);
  const NamedRun later = find_run(options.later, options.ledger);
  const harness::RunDifference difference =
      harness::difference_of(earlier.ledger->cases(earlier.run.id), later.ledger->cases(later.run.id), options.drift);
  const reports::ComparedRuns runs = {earlier.run, later.run, earlier.ledger->file().string(), later.ledger->file().string(),
                                      options.drift};
  if (difference.in_both == 0) throw std::invalid_argument(fmt::format("{} and {} have no case in common", options.earlier, options.later));
  const std::size_t longest = options.all ? std::numeric_limits<std::size_t>::max() : kLongestList;
  fmt::print("{}", options.json ? reports::difference_json(runs, difference) : reports::difference_text(runs, difference, longest));
  return difference.broke.empty() ? kExitPassed : kExitFailed;
}

}  // namespace

void add_diff(CLI::App& app, Action& action) {
  const auto options = std::make_shared<DiffOptions>();
  CLI::App* command = app.add_subcommand("diff", "What changed between two recorded runs: what broke, what healed, what drifted");
  command->add_option("EARLIER", options->earlier, kRunReferenceHelp)->capture_default_str();
  command->add_option("LATER", options->later, "The same")->capture_default_str();
  command->add_option("--ledger", options->ledger, "The ledger to read; default: your own")->type_name("FILE");
  command->add_option("--drift", options->drift, "List cases whose largest error/bound moved by more than this many bounds")
      ->type_name("X")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_flag("--all", options->all, "Lists in full, not only their first entries");
  command->add_flag("--json", options->json, "As JSON");
  command->footer(R"(examples
  assay diff                                  the last run against the one before
  assay diff 12 15 --drift 0.01
  assay diff main.sqlite pull-request.sqlite  the latest of two ledgers
exit status 0: nothing broke; 1: something did; 2: bad usage, or no such run)");
  command->callback([options, &action] { action = [options] { return diff(*options); }; });
}

}  // namespace assay::cli
