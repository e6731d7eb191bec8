// `assay diff`: compares two recorded runs.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <limits>
#include <string>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/run_reference.h"
#include "cli/say.h"
#include "harness/ledger/difference.h"
#include "reports/difference.h"

namespace assay::cli {
namespace {

struct DiffOptions {
  std::string earlier = "latest~1", later = "latest";
  std::string ledger;
  double drift = reports::kUsualDrift;
  bool all = false, json = false;
};

constexpr std::size_t kLongestList = 20;

int diff(const DiffOptions& options) {
  const NamedRun earlier = find_run(options.earlier, options.ledger);
  const NamedRun later = find_run(options.later, options.ledger);
  say_doubt(earlier);
  say_doubt(later);
  const harness::RunDifference difference =
      harness::difference_of(earlier.ledger->cases(earlier.run.id), later.ledger->cases(later.run.id), options.drift);
  const reports::ComparedRuns runs = {earlier.run, later.run, earlier.ledger->file().string(), later.ledger->file().string(),
                                      options.drift};
  if (difference.in_both == 0) throw std::invalid_argument(fmt::format("{} and {} have no case in common", options.earlier, options.later));
  const std::size_t longest = options.all ? std::numeric_limits<std::size_t>::max() : kLongestList;
  say("{}", options.json ? reports::difference_json(runs, difference) : reports::difference_text(runs, difference, longest));
  return difference.broke.empty() ? kExitPassed : kExitFailed;
}

}  // namespace

void add_diff(CLI::App& app, Action& action) {
  const auto [command, options] =
      subcommand(app, action, "diff", "Compare two recorded runs: new failures, repaired cases, and changed errors", diff);
  command->add_option("EARLIER", options->earlier, std::string("The earlier run: ") + kRunReferenceHelp)->capture_default_str();
  command->add_option("LATER", options->later, "The later run, in the same form")->capture_default_str();
  command->add_option("--ledger", options->ledger, "Ledger to read; default: your own")->type_name("FILE");
  command->add_option("--drift", options->drift, "List cases whose largest error/bound changed by more than this")
      ->type_name("X")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_flag("--all", options->all, "Print complete lists, not only their first entries");
  command->add_flag("--json", options->json, "As JSON");
  command->footer(R"(examples
  assay diff                                  compares the last two runs
  assay diff 12 15 --drift 0.01
  assay diff main.sqlite pull-request.sqlite  compares the latest runs of two ledgers
exit status 0: no case broke; 1: some case broke; 2: bad usage, or no such run)");
}

}  // namespace assay::cli
