// `assay merge`: combines the runs of shards into one run.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/files.h"
#include "cli/options.h"
#include "cli/recording.h"
#include "cli/report_files.h"
#include "cli/run_reference.h"
#include "cli/run_watch.h"
#include "cli/say.h"
#include "harness/ledger/merge.h"

namespace assay::cli {
namespace {

struct MergeOptions {
  std::vector<std::string> shards;
  std::string again;  // a file to write
  Options common;     // --ledger and reports
};

// "2,5-7": as `sbatch --array` and people write it.
std::string ranges_of(const std::vector<std::size_t>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::size_t first = i;
    while (i + 1 < numbers.size() && numbers[i + 1] == numbers[i] + 1) ++i;
    text += text.empty() ? "" : ",";
    text += first == i ? fmt::format("{}", numbers[i]) : fmt::format("{}-{}", numbers[first], numbers[i]);
  }
  return text;
}

int merge(const MergeOptions& options) {
  require_writable(options.again);
  std::vector<NamedRun> named;
  std::vector<harness::ShardRun> shards;
  for (const std::string& shard : options.shards) {
    named.push_back(find_run(shard, options.common.ledger));
    shards.push_back({named.back().ledger.get(), named.back().run.id});
  }
  harness::Ledger into = harness::Ledger::open(options.common.ledger);
  const harness::Merge merged = harness::merge_runs(shards, command_line(), into);
  const harness::RunRecord run = into.run(merged.run);
  const std::vector<harness::CaseRecord> cases = into.cases(merged.run);
  write_reports(options.common, into, merged.run);
  if (!options.again.empty()) write_file(options.again, merged.again.empty() ? "" : fmt::format("{}\n", fmt::join(merged.again, "\n")));

  harness::Summary summary = harness::summary_of(run.description.selected, cases);
  for (const std::string& note : run.description.notes) say("note: {}\n", note);
  for (const std::string& missing : merged.missing) say("missing: {}\n", missing);
  if (!merged.again.empty()) {
    say("run again, with --resume, which keeps the verdicts of a started shard: {} of {} shards: {}\n", merged.again.size(), merged.count,
        ranges_of(merged.again));
  }
  say("run {} of {}: ", run.id, into.file().string());
  say_summary(summary, options.common, run.description.outside_limits);
  say("{}{}", excused_line(run, cases), robustness_line(run, cases));
  if (const std::string replay = first_replay(run, cases); !replay.empty()) say("first failure again: {}\n", replay);
  if (const int status = exit_status(summary); status != kExitPassed) return status;
  if (!merged.missing.empty()) return kExitFailed;
  return nothing_passed(summary) ? kExitNothingPassed : kExitPassed;
}

}  // namespace

void add_merge(CLI::App& app, Action& action) {
  const auto [command, options] = subcommand(app, action, "merge", "Combine the runs of the shards of a selection into one run", merge);
  command->add_option("SHARD", options->shards, std::string("Run of a shard: ") + kRunReferenceHelp)->required();
  command->add_option("--ledger", options->common.ledger, "Ledger to add the combined run to")->type_name("FILE")->required();
  command
      ->add_option("--again", options->again,
                   "Write the numbers of the shards that are missing or unfinished, one per line; an empty file if there are none")
      ->type_name("FILE");
  add_reports(*command, options->common);
  command->footer(R"(examples
  assay gate --shard 1/2 --ledger one.sqlite      on one machine
  assay gate --shard 2/2 --ledger two.sqlite      on another
  assay merge one.sqlite two.sqlite --ledger whole.sqlite
  assay merge runs/*.sqlite --ledger whole.sqlite --again missing.txt     which shards to run again (docs/CLUSTER.md)
exit status 0: every case of the selection passed; 1: some case failed or has no verdict; 2: bad usage, or shards of different runs; 4: nothing passed)");
}

}  // namespace assay::cli
