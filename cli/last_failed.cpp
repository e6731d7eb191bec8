// Reads from the ledger which of the selected cases failed when they last ran.
#include "cli/last_failed.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <functional>
#include <iterator>
#include <ranges>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/counted.h"
#include "harness/cases/selection.h"
#include "harness/ledger/ledger.h"

namespace assay::cli {
namespace {

struct Past {
  std::size_t known = 0;         // selected cases with a verdict
  std::set<std::string> failed;  // of these
};

// Shows `look` the runs of the ledger that were made with these options, the newest first, until it returns false.
void look_at_runs(const Options& options, const std::function<bool(const std::vector<harness::CaseRecord>&)>& look) {
  const std::filesystem::path file = options.ledger.empty() ? harness::Ledger::default_file() : std::filesystem::path(options.ledger);
  if (!std::filesystem::exists(file)) return;
  const std::vector<std::string> wanted = replay_options(options);
  const harness::Ledger ledger = harness::Ledger::open_existing(file);
  const std::vector<harness::RunRecord> runs = ledger.runs();
  for (const harness::RunRecord& run : std::views::reverse(runs)) {
    if (run.description.replay_options != wanted || run.description.schedule != options.schedule) continue;
    if (!look(ledger.cases(run.id))) return;
  }
}

Past past_of(const harness::Selection& selection, const Options& options) {
  Past past;
  std::set<std::string> open;
  for (const harness::Case& test_case : selection.cases) open.insert(harness::format_case(test_case));
  look_at_runs(options, [&](const std::vector<harness::CaseRecord>& cases) {
    for (const harness::CaseRecord& record : cases) {
      if (!record.status || open.erase(record.name) == 0) continue;
      ++past.known;
      if (!harness::is_success(*record.status)) past.failed.insert(record.name);
    }
    return !open.empty();
  });
  return past;
}

// Older runs are of a kernel that has changed a lot since.
constexpr std::size_t kRecentRuns = 20;

}  // namespace

void add_last_failed(CLI::App& command, Options& options) {
  CLI::Option* last = command.add_flag("--last-failed", options.last_failed,
                                       "Run only the cases of the selection that failed when they last ran with the same options, as the "
                                       "ledger says; all of them if none failed");
  CLI::Option* first =
      command.add_flag("--failed-first", options.failed_first, "Run these cases first, and then the others of the selection");
  last->excludes(first);
  // These are about a selection as a whole.
  for (const char* whole : {"--resume", "--expect-digests", "--record-digests", "--estimate"}) last->excludes(command.get_option(whole));
}

void take_last_failed(Workspace& workspace, const Options& options) {
  if (!options.last_failed && !options.failed_first) return;
  const char* name = options.last_failed ? "--last-failed" : "--failed-first";
  if (options.ledger == "none") throw std::invalid_argument(fmt::format("{} needs a ledger, but --ledger none keeps none", name));
  harness::Selection& selection = workspace.selection;
  const Past past = past_of(selection, options);
  const auto has_failed = [&](const harness::Case& test_case) { return past.failed.contains(harness::format_case(test_case)); };
  const std::size_t cases = selection.cases.size();
  std::string sentence = fmt::format("{}: {} of {} failed when {} last ran", name, past.failed.size(), base::counted(cases, "case"),
                                     cases == 1 ? "it" : "they");
  if (past.known == 0) sentence = fmt::format("{}: the ledger has no verdict on these cases with the same options", name);
  if (past.failed.empty()) {
    sentence += ", so all of them run";
  } else if (options.last_failed) {
    harness::keep_cases(selection, has_failed);
    sentence += ", and only these run";
  } else {
    std::vector<harness::Case> ordered;
    std::ranges::copy_if(selection.cases, std::back_inserter(ordered), has_failed);
    std::ranges::copy_if(selection.cases, std::back_inserter(ordered), std::not_fn(has_failed));
    selection.cases = std::move(ordered);
    sentence += ", and they run first";
  }
  workspace.notes.push_back(std::move(sentence));
}

std::vector<std::string> recent_failures(const Options& options) {
  std::vector<std::string> failures;
  if (options.ledger == "none") return failures;
  std::set<std::string> known;
  std::size_t runs = 0;
  look_at_runs(options, [&](const std::vector<harness::CaseRecord>& cases) {
    for (const harness::CaseRecord& record : cases) {
      if (record.status && known.insert(record.name).second && !harness::is_success(*record.status)) failures.push_back(record.name);
    }
    return ++runs < kRecentRuns;
  });
  return failures;
}

}  // namespace assay::cli
