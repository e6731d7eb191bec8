// Prints estimates of processor time.
#include "cli/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/counted.h"
#include "cli/say.h"
#include "cli/workspace.h"
#include "harness/cases/effort.h"

namespace assay::cli {
namespace {

// A job of a cluster should run much longer than it waits, and lose little if its machine fails.
constexpr double kJobSeconds = 1800;

// "40 CPU minutes", "1.6 CPU hours".
std::string processor_time(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} CPU seconds", seconds);
  if (seconds < 5400) return fmt::format("{:.0f} CPU minutes", seconds / 60);
  return seconds < 36000 ? fmt::format("{:.1f} CPU hours", seconds / 3600) : fmt::format("{:.0f} CPU hours", seconds / 3600);
}

std::string under_policy(const Options& options) {
  return options.policy == "native" ? "" : fmt::format("; policy {} takes several times as long", options.policy);
}

}  // namespace

void say_effort(const Options& options, const harness::Selection& selection, double least) {
  if (selection.seconds < least) return;
  const std::string own = processor_time(harness::expected_seconds(selection.cases));
  const std::string all = selection.shard.count == 1
                              ? ""
                              : fmt::format("; all {} shards: {}, {}", selection.shard.count, base::counted(selection.selected, "case"),
                                            processor_time(selection.seconds));
  say("estimate: {}, {}{}{}\n", base::counted(selection.cases.size(), "case"), own, all, under_policy(options));
}

int print_estimate(const Options& options, const std::vector<std::string>& words) {
  Options small = options;
  if (small.shard.empty()) small.shard = fmt::format("1/{}", harness::kMostShards);
  Workspace workspace = open_workspace(small);
  select(workspace, small, words);
  const harness::Selection& selection = workspace.selection;
  say("{}: {}, without compilation{}\n", base::counted(selection.selected, "case"), processor_time(selection.seconds),
      under_policy(options));
  if (!options.shard.empty())
    say("shard {}: {}, {}\n", options.shard, base::counted(selection.cases.size(), "case"),
        processor_time(harness::expected_seconds(selection.cases)));
  const auto shards =
      std::clamp<std::size_t>(static_cast<std::size_t>(std::ceil(selection.seconds / kJobSeconds)), 1, harness::kMostShards);
  if (shards > 1) say("suggestion: {} shards of about {} each\n", shards, processor_time(selection.seconds / static_cast<double>(shards)));
  return kExitPassed;
}

}  // namespace assay::cli
