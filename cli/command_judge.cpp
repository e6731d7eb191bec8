// `assay judge`: judges the outputs that a device elsewhere returned for a bundle.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/run.h"
#include "cli/say.h"
#include "cli/workspace.h"
#include "harness/bundle/bundle.h"
#include "harness/bundle/folder.h"
#include "harness/bundle/returned.h"
#include "harness/triage/classify.h"
#include "harness/triage/laboratory.h"
#include "reports/bundle.h"
#include "reports/executed_on.h"
#include "reports/grouped.h"

namespace assay::cli {
namespace {

struct JudgeOptions {
  Options common;
  std::string folder;
};

// The bundle's cases in its order. Only their names come from the bundle.
void select_bundled(Workspace& workspace, const Options& options, const harness::BundleFolder& folder,
                    const std::vector<std::string>& names) {
  const std::filesystem::path manifest = folder.path() / reports::kManifestFile;
  for (std::size_t i = 0; i < names.size(); ++i) {
    // Neither a suite nor a glob.
    if (names[i].find('/') == std::string::npos || names[i].find_first_of("*?[") != std::string::npos)
      throw harness::BundleError(manifest, fmt::format("cases[{}].name: '{}' is no name of a case", i, names[i]));
  }
  select(workspace, options, names);
  std::map<std::string, harness::Case> by_name;
  for (const harness::Case& test_case : workspace.selection.cases) by_name.emplace(harness::format_case(test_case), test_case);
  std::vector<harness::Case> ordered;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto found = by_name.find(names[i]);
    if (found == by_name.end())
      throw harness::BundleError(manifest, fmt::format("cases[{}].name: '{}' is no case here, or occurs twice; judge a bundle with the "
                                                       "options with which it was exported (--kernel, --family, --fixture ...)",
                                                       i, names[i]));
    ordered.push_back(std::move(found->second));
    by_name.erase(found);
  }
  workspace.selection.cases = std::move(ordered);
}

// Makes a case of the bundle again, and compares its files with those of the folder. Keeps the first error in `wrong_file`.
harness::BundleCase remake(const harness::PreparedVariant& prepared, const harness::Case& test_case, const fixtures::Shelf& shelf,
                           const harness::BundleFolder& folder, std::optional<harness::BundleError>& wrong_file) {
  if (const std::string why = harness::why_not_bundled(prepared, test_case); !why.empty())
    throw harness::BundleError(folder.path() / reports::kManifestFile,
                               fmt::format("{} cannot be in a bundle: {}", harness::format_case(test_case), why));
  return harness::make_bundle(prepared, test_case, shelf,
                              [&](std::string_view kind, std::span<const std::byte> contents, std::string_view suffix) {
                                std::string name = harness::content_name(kind, contents, suffix);
                                if (wrong_file) return name;
                                try {
                                  const std::string theirs = folder.read(name, contents.size());
                                  if (!std::ranges::equal(std::as_bytes(std::span(theirs)), contents))
                                    wrong_file.emplace(folder.path() / name, "is not what the case needs: its contents were changed");
                                } catch (const harness::BundleError& error) {
                                  wrong_file = error;
                                }
                                return name;
                              });
}

// Which known mistake the outputs of a variant's failing cases resemble. Nothing is executed: smaller cases, lines and repairs need
// `assay triage`, on the simulator.
void say_resemblance(const Workspace& workspace, const std::string& variant, const harness::WorkbenchOptions& bench,
                     const harness::RunOptions& running) {
  constexpr std::size_t kMost = 8;  // failing cases, and passing ones
  harness::Laboratory laboratory({.catalogue = workspace.catalogue, .variant = variant, .workbench = bench, .run = running});
  std::vector<harness::Observation> failing;
  std::vector<harness::Observation> passing;
  for (const harness::Case& test_case : workspace.selection.cases) {
    if (test_case.variant != variant || (failing.size() >= kMost && passing.size() >= kMost)) continue;
    std::optional<harness::Observation> seen = laboratory.observe(test_case);
    if (!seen) continue;
    std::vector<harness::Observation>& like = seen->is_failure() ? failing : passing;
    if (like.size() < kMost) like.push_back(*std::move(seen));
  }
  if (failing.empty()) return;
  harness::Evidence evidence;
  evidence.faults = failing.front().verdict.faults;
  const harness::Classification found = harness::classify(failing, passing, evidence, running.execution.shelf);
  if (found.kind == harness::mistake::kUnknown) return;
  say("note: {}: the errors of {} resemble {}{}{}\n", variant, reports::plural(failing.size(), "failing case"), found.kind,
      found.says.empty() ? "" : ": ", found.says);
}

int judge(const JudgeOptions& parsed) {
  const InterruptGuard interrupt;
  const harness::BundleFolder folder(parsed.folder);
  const reports::ManifestHead head = reports::read_manifest_head(folder);
  Options options = parsed.common;
  if (head.math == harness::BundleMath::fast && options.profile == Options{}.profile) options.profile = "metal_fast";
  Workspace workspace = open_workspace(options);
  select_bundled(workspace, options, folder, head.names);
  const harness::Workbench workbench(workspace.catalogue, workspace.selection.cases, workbench_options(options, workspace));
  harness::RunOptions running = run_options(options);

  const auto made = std::make_shared<std::vector<harness::BundleCase>>();
  std::optional<harness::BundleError> wrong_file;
  for (const harness::Case& test_case : workspace.selection.cases)
    made->push_back(remake(workbench.find(test_case.variant), test_case, running.execution.shelf, folder, wrong_file));
  const reports::BundleManifest manifest = reports::bundle_manifest(head.math, *made);
  // It says more about a bundle of another kernel than a missing file.
  reports::require_manifest(folder, manifest);
  if (wrong_file) throw *wrong_file;
  auto returned = std::make_shared<harness::Returned>(reports::read_results(folder));
  harness::check_returned(folder, *returned, *made, manifest.ids);

  options.executed_on = fmt::format("{}{}{}", reports::kElsewhere, returned->executed_on,
                                    head.math == harness::BundleMath::fast ? reports::kElsewhereFast : "");
  running.execution.returned = harness::put_returned(folder, returned, made);
  const int status = run_prepared(options, workspace, workbench, running, interrupt);
  if (status == kExitFailed && !interrupt.stop()) {
    for (const auto& [variant, prepared] : workbench.variants())
      say_resemblance(workspace, variant, workbench_options(options, workspace), running);
  }
  return status;
}

}  // namespace

void add_judge(CLI::App& app, Action& action) {
  const auto [command, options] =
      subcommand(app, action, "judge", "Judge what a device elsewhere returned for a bundle of `assay export` (docs/BUNDLES.md)", judge);
  command->add_option("DIR", options->folder, "Folder of the bundle, with the results of a runner")->required()->type_name("DIR");
  add_selection(*command, options->common);
  add_inputs(*command, options->common);
  add_profile(*command, options->common);
  add_running(*command, options->common);
  add_ledger(*command, options->common);
  add_reports(*command, options->common);
  command->footer(R"(examples
  assay judge bundle
  assay judge bundle --kernel mine.metal --family FAMILY --junit junit.xml
                                                          with the options with which the bundle was exported

exit status
  0 all passed   1 some case failed   2 the bundle cannot be used; the message names the file
  4 nothing passed   130 stopped by Ctrl-C or SIGTERM)");
}

}  // namespace assay::cli
